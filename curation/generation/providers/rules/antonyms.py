"""Find the antonym of a word: first in the rules' lists, then in WordNet.

The lists were checked by hand. Of WordNet only affixed antonyms are taken, of adjectives and
adverbs in their most frequent sense. Its other antonyms were read and left out: of the adjectives
most are technical or fit one sense only, of the verbs most are reversals that leave the anchor
standing (who locked a door may unlock it).
"""

from curation.generation.providers.rules.grammar.word_lists import WORDS
from curation.language.affixes import negative_affix
from curation.language.wordnet.files import Part, first_sense

AFFIX_SHARE = 0.6
"""Of a word's first sense, at least, for its affixed antonym out of WordNet. An affix picks the
sense by itself ('unhappy'), so that this may be lower than for another word."""

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
    """Whether an antonym is made of the word and a negative affix, or swaps one for '-ful'."""
    base = word.removesuffix("ful")
    if antonym == base + "less":
        return True
    return antonym.endswith(word) and negative_affix(antonym, anchor_words=(word,)) is not None


def _by_affix(word: str, part: Part) -> str | None:
    if word in _UNFIT or negative_affix(word) is not None:
        return None  # 'unsafe' gives way to 'safe', which is no affixal negation
    sense = first_sense(word, part)
    if sense is None or sense.share < AFFIX_SHARE:
        return None
    return next((other for other in sense.antonyms if is_affixed(word, other)), None)
