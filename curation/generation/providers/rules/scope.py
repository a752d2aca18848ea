"""What else must change when a clause is negated, and what would change the negation's meaning."""

import re

from curation.generation.providers.rules.clause import SETS, Clause, Skipped, SkipReason
from curation.language.negation import negative_affix

Edits = list[tuple[int, int, str]]

_ESCAPE_PAIRS = (
    ("as", "well"),
    ("a", "few"),
    ("at", "last"),
    ("up", "to"),
    ("more", "than"),
    ("one", "of"),
    ("a", "bit"),
    ("a", "little"),
    ("of", "course"),
    ("in", "fact"),
    ("for", "example"),
    ("about", "to"),
    ("bound", "to"),
    ("or", "more"),
    ("or", "less"),
    ("long", "after"),
    ("long", "before"),
)
_ANY = {
    "some": "any",
    "someone": "anyone",
    "somebody": "anybody",
    "something": "anything",
    "somewhere": "anywhere",
}


def deny_tail(clause: Clause, *, lexical: str = "") -> Edits:
    """Return the edits after the finite verb when the clause is negated: 'any' for 'some' etc.

    Args:
        lexical: the base of the finite verb if it is a lexical verb.

    Raises:
        Skipped: a word there would be outside the negation's scope or change its meaning.
    """
    check_words(clause, clause.subject_end, clause.end)
    is_stretched = any(  # 'Even on Sundays, it isn't open' would say more
        clause.word(i)
        in (SETS["stretching"] | SETS["escape"] if clause.letter(i) == "V" else SETS["stretching"])
        for i in range(clause.subject_start)
    )
    rest = [clause.word(i) for i in range(clause.finite + 1, clause.end)]
    has_second = any(  # 'unlimited', 'disallowed'
        word.isalpha() and word not in SETS["denied"] and negative_affix(word) is not None
        for word in rest
    )
    if is_stretched or has_second:
        raise Skipped(SkipReason.SCOPE)
    check_reasons(clause)
    _check_clauses(clause)
    _check_infinitives(clause, lexical)
    return [*_any_for_some(clause), *_or_for_and(clause)]


def check_words(clause: Clause, start: int, end: int) -> None:
    """Raise ``Skipped`` if a word between two positions is outside a negation's scope."""
    for i in range(start, end):
        word = clause.word(i)
        is_ordinal = word == "first" and clause.letter(i) == "A"
        is_superlative = word == "most" and clause.letter(i + 1) == "A"
        escapes = word in SETS["escape"] and not is_ordinal and not is_superlative
        if escapes or (word, clause.word(i + 1)) in _ESCAPE_PAIRS:
            raise Skipped(SkipReason.SCOPE)


def check_reasons(clause: Clause) -> None:
    """Raise ``Skipped`` at a clause of reason or contrast: it only fits the original claim."""
    if any(
        clause.letter(i) == "S" and clause.word(i) in SETS["reasons"] for i in range(clause.end)
    ):
        raise Skipped(SkipReason.SCOPE)


def _check_clauses(clause: Clause) -> None:
    """Raise ``Skipped`` at a clause of reason or contrast, which would be negated instead."""
    for i in range(clause.finite + 1, clause.end):
        letter, word, following = clause.letter(i), clause.word(i), clause.letter(i + 1)
        would_be_negated = (
            word in ("until", "till", "because")
            or (letter in "SW" and word not in SETS["tail_clauses"])
            or (letter == "S" and word == "as")
            or (letter == "," and following in "SWVG" and not _adds_a_fact(clause, i))
            or (letter == "," and following == "E")
        )
        if would_be_negated:
            raise Skipped(SkipReason.SCOPE)


def _adds_a_fact(clause: Clause, comma: int) -> bool:
    """Whether the words after a comma hold even if the claim is negated: 'the treaty, which …'."""
    letter, word = clause.letter(comma + 1), clause.word(comma + 1)
    if letter == "W" or word in ("where", "when"):
        return _definite_before(clause, comma) or clause.letter(comma - 1) == "Z"
    return (word, clause.word(comma + 2)) == ("according", "to")


def _definite_before(clause: Clause, comma: int) -> bool:
    """Whether the noun phrase before a comma is definite: 'the treaty, which …'."""
    for i in range(comma - 1, clause.finite, -1):
        if clause.letter(i) in "Dd":
            return clause.word(i) in SETS["definite"]
        if clause.tokens[i].tag == "NP0":
            return True
        if clause.letter(i) not in "NAGEZK":
            return False
    return False


def _check_infinitives(clause: Clause, lexical: str) -> None:
    """Raise ``Skipped`` at 'to' after a noun: a purpose would be negated instead."""
    for i in range(clause.finite + 1, clause.end):
        direct = i == clause.finite + 1 or clause.letter(i - 1) in "AEI"
        if clause.letter(i) == "T" and not direct and lexical not in SETS["object_infinitive"]:
            raise Skipped(SkipReason.SCOPE)


def _any_for_some(clause: Clause) -> Edits:
    return [
        (token.start, token.end, _ANY[token.lower])
        for token in clause.tokens[clause.finite + 1 : _end_of_clause(clause)]
        if token.lower in _ANY
    ]


def _end_of_clause(clause: Clause) -> int:
    """The position of the first word after the finite verb that begins another clause."""
    rest = range(clause.finite + 1, clause.end)
    return next((i for i in rest if clause.letter(i) in "SW"), clause.end)


_NOUN_END = re.compile(r"[NZ]$")
_NOUN_START = re.compile(r"^[Dd]{0,2}(?:[AGEZ])*N")


def _or_for_and(clause: Clause) -> Edits:
    """Replace 'and' with 'or' between things that are negated together."""
    edits: Edits = []
    for i in range(clause.finite + 1, _end_of_clause(clause)):
        token = clause.tokens[i]
        if clause.letter(i) != "C" or token.lower == "or":
            continue
        before, after = clause.letters[clause.finite + 1 : i], clause.letters[i + 1 : clause.end]
        if token.lower != "and":
            raise Skipped(SkipReason.COORDINATED)
        names = clause.tokens[i - 1].tag == clause.tokens[i + 1].tag == "NP0"
        preposition = clause.finite + 1 + before.rfind("P")
        is_range = re.search(r"P[DdAGEZN]*$", before) and clause.word(preposition) == "between"
        is_one = (
            (names and after[1:2] == "N")  # 'a Gilbert and Sullivan opera'
            or is_range  # 'between nine and noon'
            or (before.endswith("A") and re.match(r"[AGE]+N", after))  # 'a blue and white flag'
        )
        if is_one:
            continue
        words = {clause.word(k) for k in range(clause.finite + 1, i)}
        nouns = _NOUN_END.search(before) and _NOUN_START.match(after)
        qualities = clause.kind == "B" and re.fullmatch(r"V*A(,A)*,?", before)
        places = re.search(r"P[DdAGEZ]*N+$", before) and after.startswith("P")
        alike = nouns or places or (qualities and re.match(r"V?A($|[PV])", after))
        if words & SETS["chosen_pair"] or not (alike or _joins_verbs(clause, i)):
            raise Skipped(SkipReason.COORDINATED)
        edits.append((token.start, token.end, "or"))
    return edits


def _joins_verbs(clause: Clause, position: int) -> bool:
    """Whether a conjunction joins two verbs of the same form: 'is sitting and reading'."""
    following = position + 1 + (clause.letter(position + 1) == "V")
    if following == clause.second_verb:
        return True
    first = clause.letter(clause.after_adverbs())
    if first not in tuple("GEI") or clause.letter(following) != first:
        return False
    joined = clause.letters[clause.finite : position]
    return clause.letter(position - 1) != "," and joined.count(first) == 1 and "C" not in joined
