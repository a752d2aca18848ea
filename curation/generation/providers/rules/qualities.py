"""The quality at the end of a claim ('is open', 'remained healthy'), and its antonym."""

from typing import NamedTuple

from curation.generation.providers.rules.clause import (
    SETS,
    WORDS,
    Clause,
    Skipped,
    SkipReason,
    base_of,
    edited,
)
from curation.generation.providers.rules.scope import check_words, deny_tail
from curation.generation.providers.rules.verbal import lexical_base

_DEGREE = frozenset({"very"})


class Quality(NamedTuple):
    """A clause's predicate adjective or participle, and its position."""

    position: int
    word: str
    participle: bool


def find_quality(clause: Clause) -> Quality | None:
    """Return the adjective or participle after 'be' or a linking verb that ends the claim."""
    following = clause.word(clause.finite + 1)
    # 'has been open', 'will be open'
    has_been = (clause.kind == "H" and following == "been") or (
        clause.kind == "M" and clause.word(clause.finite) == "will" and following == "be"
    )
    if clause.kind != "B" and clause.lexical_verb not in SETS["linking"] and not has_been:
        return None
    first = clause.finite + (2 if has_been else 1)
    position = first
    while clause.letter(position) == "V":
        position += 1
    check_words(clause, clause.finite + 1, position)
    adverbs = {clause.word(i) for i in range(first, position)}
    letter = clause.letter(position)
    is_adverb = clause.word(position - 1) == "well"
    if is_adverb and position > first and letter in ("", "P"):
        return Quality(position - 1, "well", False) if len(adverbs) == 1 else None
    if adverbs - _DEGREE - SETS["when"] or letter not in ("A", "E"):
        return None
    if clause.tokens[position].tag in ("AJC", "AJS", "ORD"):
        return None
    word = clause.word(position)
    known_participle = word in WORDS["affixed_participles"] or word in WORDS["lexical_participles"]
    return Quality(position, word, known_participle or letter == "E")


def with_antonym(clause: Clause, quality: Quality, antonym: str | None) -> str:
    """Return the statement with an antonym for its quality.

    Raises:
        Skipped: there is no antonym, or it does not fit the words that follow.
    """
    if antonym is None:
        raise Skipped(SkipReason.NO_ANTONYM)
    _check_after(clause, quality, antonym)
    token = clause.tokens[quality.position]
    return edited(clause.text, [(token.start, token.end, antonym)])


def _check_after(clause: Clause, quality: Quality, antonym: str) -> None:
    """Raise ``Skipped`` if the words after the quality do not fit its antonym."""
    position = quality.position + 1
    letter, word = clause.letter(position), clause.word(position)
    check_words(clause, position, min(position + 2, clause.end))
    listed = quality.word in _LISTED
    unfit = (
        (not listed and letter == "P" and word not in SETS["with_any"])
        or (not listed and quality.participle and letter)
        or word in _NOT_WITH.get(quality.word, ())
        or word in _NOT_WITH.get(antonym, ())
        or word == "enough"
        or letter in tuple("CNAEGWdDRZF")
        or (letter == "T" and quality.word not in SETS["infinitive"])
        or (letter == "P" and not _keeps_preposition(quality, word))
        or (quality.participle and (letter == "V" or _is_event(clause, quality)))
    )
    if unfit:
        raise Skipped(SkipReason.NO_ANTONYM)


def _keeps_preposition(quality: Quality, word: str) -> bool:
    """Whether the antonym takes the same preposition."""
    if quality.participle and word == "by":
        return quality.word in SETS["by"]
    is_safe = word in SETS["safe_next"] or (quality.participle and word in SETS["with_participle"])
    return is_safe or quality.word in SETS["own_preposition"]


_LISTED = frozenset(
    word
    for group in ("affixed", "affixed_participles", "lexical", "lexical_participles")
    for word in WORDS[group]
)
_NOT_WITH = {
    "responsible": {"for"},
    "loyal": {"to", "in"},
    "tired": {"from"},
    "accurate": {"to"},
    "connected": {"to"},
    "locked": {"in"},
    "signed": {"in"},
    "long": {"after", "before"},
    "new": {"to"},
    "late": {"for"},
    "good": {"to"},
    "short": {"of", "on"},
    "sick": {"of", "with"},
    "open": {"about", "with"},
    "clear": {"of", "from"},
    "safe": {"from"},
    "content": {"to"},
    "certain": {"to"},
    "sure": {"to"},
    "present": {"in"},
    "cold": {"to"},
    "dry": {"on"},
    "dark": {"to"},
    "low": {"on"},
    "heavy": {"on"},
    "easy": {"on"},
    "fair": {"for"},
    "well": {"for"},
    "crowded": {"with"},
    "dead": {"from"},
    "alive": {"with"},
    "full": {"of"},
    "sad": {"with", "to"},
    "hidden": {"to", "for", "in"},
    "doubtful": {"to", "for"},
    "ill": {"in", "at"},
    "deceitful": {"with"},
    "hostile": {"with"},
    "poor": {"at"},
}


def _is_event(clause: Clause, quality: Quality) -> bool:
    """Whether this is an event ('was signed in June') and not a state ('was unsigned')."""
    rest = [clause.word(i) for i in range(quality.position + 1, clause.end)]
    verbs = [clause.letter(i) for i in range(clause.finite + 1, quality.position)]
    dated = any(word.isdigit() or word in SETS["dates"] for word in rest)
    return "E" in verbs or (
        clause.verb.tag == "VBD" and dated and quality.word not in SETS["state"]
    )


def negated_quality(clause: Clause, quality: Quality) -> str:
    group = "complementary_participles" if quality.participle else "complementary"
    antonym = WORDS[group].get(quality.word)
    if antonym is None or clause.kind != "B" or quality.position != clause.finite + 1:
        raise Skipped(SkipReason.NO_ANTONYM)
    if clause.verb.word.startswith("'") and clause.verb.lower not in ("'m", "'re"):
        raise Skipped(SkipReason.UNCLEAR)
    _check_after(clause, quality, antonym)
    edits = deny_tail(clause)
    token = clause.tokens[quality.position]
    return edited(clause.text, [*edits, (token.start, token.end, f"not {antonym}")])


# -- 'unable to' instead of 'can', 'managed to' or a verb of achievement --------------------------


def unable(clause: Clause) -> str | None:
    """Return the statement with 'unable to' in its predicate; None if it states no ability."""
    if clause.plural is None or clause.finite != clause.subject_end:
        return None
    if clause.kind == "M":
        return _for_can(clause)
    if clause.kind == "H" and clause.letter(clause.finite + 1) == "E":
        return _for_perfect(clause)
    return _for_past(clause) if clause.verb.tag == "VVD" else None


def _for_can(clause: Clause) -> str | None:
    following, verb = clause.finite + 1, clause.verb
    if verb.lower not in ("can", "could") or clause.letter(following) != "I":
        return None
    if clause.word(clause.head) in SETS["not_able"] or clause.word(following) in SETS["befall"]:
        return None
    check_words(clause, following, clause.end)
    be = _be(clause, past=verb.lower == "could")
    return edited(clause.text, [(verb.start, verb.end, f"{be} unable to")])


def _for_past(clause: Clause) -> str | None:
    """'was unable to solve it' for 'solved it' and 'managed to solve it'."""
    verb, following = clause.verb, clause.letter(clause.finite + 1)
    base = lexical_base(clause)
    managed = base == "manage" and following == "T"
    achieved = base in SETS["achieved"] and following in tuple("DdNARZ") and not says_more(clause)
    if not managed and not achieved:
        return None
    check_words(clause, clause.finite + 1, clause.end)
    new = f"{_be(clause, past=True)} unable{'' if managed else f' to {base}'}"
    return edited(clause.text, [(verb.start, verb.end, new)])


def _for_perfect(clause: Clause) -> str | None:
    token = clause.tokens[clause.finite + 1]
    base = base_of(token.word, "VVN") if token.tag != "VBN" else ""
    fits = base in SETS["achieved"] and clause.letter(clause.finite + 2) in tuple("DdNRZ")
    if not fits or says_more(clause) or clause.is_contracted:
        return None
    check_words(clause, clause.finite + 1, clause.end)
    return edited(clause.text, [(token.start, token.end, f"been unable to {base}")])


def says_more(clause: Clause) -> bool:
    """Whether the clause says more than the plain deed, such as how it was done."""
    manner = any(clause.word(i).endswith("ly") for i in range(clause.finite, clause.end))
    return manner or bool({"C", "T"} & set(clause.tail))


def _be(clause: Clause, *, past: bool) -> str:
    first = clause.word(clause.head) == "i"
    if past:
        return "was" if first or not clause.plural else "were"
    return "am" if first else "are" if clause.plural else "is"
