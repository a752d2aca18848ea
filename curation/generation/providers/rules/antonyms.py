"""Finds the antonym of a word: first in the rules' lists, then in WordNet.

The lists were checked by hand. From WordNet, only affixed antonyms of adjectives and adverbs in
their most frequent sense are used. We read its other antonyms and rejected them: most of the
adjectives are technical or fit only one sense, and most of the verbs are reversals that do not
contradict the anchor (somebody who locked a door may unlock it).
"""

from curation.generation.providers.rules.grammar.word_lists import WORDS
from curation.language.affixes import negative_affix
from curation.language.wordnet.files import Part, first_sense

AFFIX_SHARE = 0.6
"""The minimum share of a word's first sense for using its affixed antonym from WordNet.

It can be lower than for other antonyms because the affix already selects the sense ('unhappy').
"""

_UNFIT = frozenset(WORDS["wordnet_unfit"])


def affixed_quality(word: str, *, participle: bool) -> str | None:
    """'unsafe' for 'safe', 'unlocked' for 'locked'."""
    group = "affixed_participles" if participle else "affixed"
    return WORDS[group].get(word) or _by_affix(word, "adj")


def other_quality(word: str, *, participle: bool) -> str | None:
    """'closed' for 'open', 'vacant' for 'occupied'."""
    group = "lexical_participles" if participle else "lexical"
    found: str | None = WORDS[group].get(word)
    return found


def affixed_adverb(word: str) -> str | None:
    """'unevenly' for 'evenly'."""
    return WORDS["affixed_adverbs"].get(word) or _by_affix(word, "adv")


def is_affixed(word: str, antonym: str) -> bool:
    """Whether an antonym is the word plus a negative affix, or swaps one for '-ful'."""
    base = word.removesuffix("ful")
    if antonym == base + "less":
        return True
    return antonym.endswith(word) and negative_affix(antonym, anchor_words=(word,)) is not None


def _by_affix(word: str, part: Part) -> str | None:
    if word in _UNFIT or negative_affix(word) is not None:
        return None  # 'unsafe' becomes 'safe', which is not an affixal negation
    sense = first_sense(word, part)
    if sense is None or sense.share < AFFIX_SHARE:
        return None
    return next((other for other in sense.antonyms if is_affixed(word, other)), None)
