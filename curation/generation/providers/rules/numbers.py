"""'Neither' and 'none' for the group that the claim is about: 'Two men', 'Ann and Ben'."""

import re

from curation.generation.providers.rules.collective import is_collective
from curation.generation.providers.rules.grammar.clause import Clause, edited
from curation.generation.providers.rules.grammar.first_word import lowered_opening
from curation.generation.providers.rules.grammar.forms import third
from curation.generation.providers.rules.grammar.scope import Edits
from curation.generation.providers.rules.grammar.word_lists import WORDS
from curation.generation.providers.rules.never import denied_tail

_NOT_COUNTED = frozenset(WORDS["units"]) | frozenset(
    "hundred thousand million billion dozen".split()
)
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}
_WHOLE = re.compile(r"(?:[Dd]{1,2}A*N+|R|N)")


def none_of_number(clause: Clause) -> str | None:
    """'Neither of the two men' for 'Two men', 'None of the five boats' for 'Five boats'."""
    start, head = clause.subject_start, clause.head
    number = clause.word(start)
    if clause.letter(start) != "Z" or clause.tokens[head].tag != "NN2":
        return None
    letters = clause.letters[start + 1 : clause.subject_end]
    nouns = {clause.word(i) for i in range(start, head + 1)}
    if letters[0] in "PZ" or "C" in letters or nouns & _NOT_COUNTED or is_collective(clause):
        return None
    if number in ("one", "1") or not (number.isalpha() or (number.isdigit() and len(number) < 4)):
        return None
    token, two = clause.tokens[start], number in ("two", "2")
    edits = denied_tail(clause) + (singular_verb(clause) if two else [])
    new = f"{'neither' if two else 'none'} of the {number}"
    return edited(clause.text, [*edits, (token.start, token.end, _as_first(new, token.start))])


def _as_first(new: str, start: int) -> str:
    return new[0].upper() + new[1:] if start == 0 else new


def singular_verb(clause: Clause) -> Edits:
    """'Neither of them *is*'."""
    verb = clause.verb
    singular = _SINGULAR.get(verb.lower)
    if singular is None and verb.tag in ("VVB", "VVI"):
        singular = third(verb.lower)
    return [(verb.start, verb.end, singular)] if singular else []


def neither_nor(clause: Clause) -> str | None:
    """Write 'Neither Ann nor Ben' for 'Ann and Ben' or 'Both Ann and Ben'."""
    both = clause.word(clause.subject_start) == "both"
    start = clause.subject_start + both
    first, joined, second = clause.letters[start : clause.subject_end].partition("C")
    middle = start + len(first)
    if not joined or clause.word(middle) != "and" or is_collective(clause):
        return None
    if not (_WHOLE.fullmatch(first) and _WHOLE.fullmatch(second)):
        return None
    edits = [*denied_tail(clause), (*_span(clause, middle), "nor")]
    if clause.tokens[clause.subject_end - 1].tag in ("NN1", "NN0", "NP0"):
        edits += singular_verb(clause)
    opening = clause.tokens[clause.subject_start]
    neither = _as_first("neither", opening.start)
    if both:
        return edited(clause.text, [*edits, (opening.start, opening.end, neither)])
    word = opening.word if opening.start else lowered_opening(clause)
    if word is None:
        return None
    return edited(clause.text, [*edits, (opening.start, opening.end, f"{neither} {word}")])


def _span(clause: Clause, position: int) -> tuple[int, int]:
    token = clause.tokens[position]
    return token.start, token.end
