"""Lower-cases a statement's first word for use inside another sentence."""

from curation.generation.providers.rules.grammar.clause import Clause
from curation.generation.providers.rules.grammar.word_lists import WORDS
from curation.language.tagging import is_known, may_be_common

_PROPER = frozenset(WORDS["proper_adjectives"])
_LOWERED = frozenset(
    "AT0 DPS DT0 PNP PRP PRF AV0 CRD EX0 PNI CJS AVQ NN2 ORD AJ0 AJC AJS NN1 NN0 VVG CJC".split()
)


def lowered_opening(clause: Clause) -> str | None:
    """Return the first word, lower-cased unless it is a name; None if that is uncertain."""
    first, following = clause.tokens[0], clause.tokens[1]
    word, noun = first.word, clause.letters[0] == "N"
    if word == "I" or not (word == "A" or word[1:].islower()):
        return word
    if first.tag == "NP0":
        return None if may_be_common(word) and not following.word[0].isupper() else word
    if first.tag not in _LOWERED or keeps_capital(word):
        return word
    if not is_known(word):
        return None
    if noun and following.word[0].isupper():
        return word  # 'Aunt Vera', 'Lake Orvane'
    if noun and first.tag != "NN2" and clause.head == clause.subject_start == 0:
        return None  # 'Kit' or 'copper'?
    if noun and clause.letter(1) == "K" and first.tag != "NN2":
        return None
    return word[0].lower() + word[1:]


def keeps_capital(word: str) -> bool:
    """Whether a word is always capitalised: 'French', 'Mondays'."""
    lower = word.lower()
    return lower in _PROPER or lower.removesuffix("s") in _PROPER
