"""Hedges: cues that can be placed by rule, in a frame or position that keeps the claim."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from curation.content_uids import bucket
from curation.generation.providers.rules.clause import (
    WORDS,
    Clause,
    Skipped,
    SkipReason,
    base_of,
    edited,
    lowered_opening,
    participle,
)
from curation.generation.providers.rules.main_clause import is_one_clause, is_one_statement
from curation.generation.providers.rules.verbal import is_main_have, lexical_base

_SALT = "hedgerow/rules-cue/1:"
_FRAMES: dict[str, dict[str, str]] = WORDS["frames"]
_ADVERBS = frozenset(WORDS["hedging_adverbs"])

_HEDGED = frozenset(
    "assume believe think suppose expect hope guess suspect wonder imagine doubt seem appear"
    " suggest tend".split()
)
_OF_ONESELF = (
    "I am not",
    "I think",
    "I believe",
    "I suppose",
    "I feel",
    "I suspect",
    "It seems",
    "It may",
    "It might",
    "It could",
    "It is possible",
    "It is likely",
    "It is probable",
    "It would",
    "Maybe",
    "I tend",
    "In all",
    "There is a possibility",
    "It looks",
    "I am somewhat",
)


@lru_cache(maxsize=8)
def placeable(type_id: str) -> tuple[str, ...]:
    """Return the cues in the paper's list for a type that the rules can place."""
    if type_id == "word":
        return tuple(dict.fromkeys([*_ADVERBS_IN_ORDER, *_MODALS, *_FRAMES["word"]]))
    return tuple(_FRAMES["phrase"])


_ADVERBS_IN_ORDER: Sequence[str] = WORDS["hedging_adverbs"]
_MODALS = ("may", "might")


def hedge(clause: Clause, type_id: str, cue: str) -> tuple[str, str]:
    """Hedge the statement with the requested cue if it can be placed, else with another one.

    Returns:
        The text, and the cue that it uses.

    Raises:
        Skipped: no cue can be placed.
    """
    may = clause.kind == "M" and clause.word(clause.finite) in _MODALS
    if may or (clause.kind == "F" and base_of(clause.verb.word, clause.verb.tag) in _HEDGED):
        raise Skipped(SkipReason.UNSUITABLE)  # it may already be hedged
    if not is_one_statement(clause):
        raise Skipped(SkipReason.COORDINATED)
    if clause.letters[0] == "V" and clause.subject_start > 0 and clause.word(0).endswith("ly"):
        raise Skipped(SkipReason.NO_CUE)
    for candidate in _candidates(clause.text, type_id, cue):
        new = _place(clause, type_id, candidate)
        if new is not None:
            return new, candidate
    raise Skipped(SkipReason.NO_CUE)


def _candidates(text: str, type_id: str, cue: str) -> Iterator[str]:
    """Return the requested cue first, then the others in an order that depends on text and cue."""
    known = placeable(type_id)
    if cue in known:
        yield cue
    salt = f"{_SALT}{type_id}:{cue}:"
    yield from sorted(known, key=lambda other: bucket(f"{other}|{text}", salt=salt))


def _place(clause: Clause, type_id: str, cue: str) -> str | None:
    of_oneself = clause.word(clause.head) in ("i", "we")
    inside = type_id == "word" and is_one_clause(clause)
    if inside and cue in _ADVERBS:
        fits = not of_oneself or cue in ("possibly", "probably")
        return _with_adverb(clause, cue) if fits else None
    if inside and cue in _MODALS and not of_oneself:
        new = _with_modal(clause, cue)
        if new is not None:
            return new
    frame = _FRAMES[type_id].get(cue)
    return None if frame is None else _framed(clause, frame)


def _framed(clause: Clause, frame: str) -> str | None:
    """Put the whole statement in a frame: 'It seems that …'."""
    opens_itself = frame.endswith(", {}")
    if not opens_itself and not _may_follow(clause, frame):
        return None
    first = clause.tokens[0]
    if frame.endswith("like {}") and first.lower in ("a", "an"):
        return None  # 'I feel like a teacher …' means something else
    if first.word == "That" and frame.endswith("that {}"):
        return None  # 'that that …'
    if clause.word(clause.head) in ("i", "we") and not frame.startswith(_OF_ONESELF):
        return None  # nobody says 'It is debatable, but I think that I like it'
    word = lowered_opening(clause)
    if word is None:
        return None
    return frame.replace("{}", word + clause.text[first.end :])


def _may_follow(clause: Clause, frame: str) -> bool:
    """Whether the statement's beginning fits after the frame: not 'whether when we arrived'."""
    letter = clause.letters[0]
    if letter == "S":
        return frame.endswith("that {}")
    is_subject = clause.tokens[0].tag == "VVG" and clause.subject_start == 0
    return letter not in "GE" or is_subject  # 'that swimming here is legal'


def _with_adverb(clause: Clause, cue: str) -> str | None:
    """Write 'is probably open', 'probably sells' if a single clause makes the claim."""
    if "C" in clause.tail and not _joins_words(clause):
        return None
    verb = clause.verb
    if clause.word(clause.finite) in ("must", "should"):
        return None  # 'must probably' means likelihood, not duty
    if any(clause.letter(i) == "V" for i in (clause.finite + 1, clause.finite - 1)):
        return None
    if clause.kind in ("F", "O") or (clause.kind == "H" and is_main_have(clause)):
        if verb.word.startswith(("'", "’")):
            return None
        return edited(clause.text, [(verb.start, verb.start, f"{cue} ")])
    return edited(clause.text, [(verb.end, verb.end, f" {cue}")])


def _joins_words(clause: Clause) -> bool:
    """Whether a conjunction is not followed by a finite verb, so that there is only one claim."""
    after = clause.tail[clause.tail.index("C") :]
    return not any(letter in "BHMOF" for letter in after)


def _with_modal(clause: Clause, cue: str) -> str | None:
    """Write 'may be open', 'might have sold' for 'is open', 'sold'."""
    verb = clause.verb
    if verb.word.startswith(("'", "’")) or clause.kind in ("M", "O"):
        return None
    if "C" in clause.tail and not _joins_words(clause):
        return None
    between = clause.after_adverbs() > clause.finite + 1 and clause.after_adverbs() < clause.end
    if clause.finite != clause.subject_end or between:
        return None  # 'might be typically used'
    was = verb.tag in ("VBD", "VHD", "VVD")
    if clause.kind == "B":
        new = "have been" if was else "be"
    elif clause.kind == "H":
        new = "have had" if was and is_main_have(clause) else "have"
    else:
        base = lexical_base(clause)
        new = f"have {participle(base)}" if was else base
    return edited(clause.text, [(verb.start, verb.end, f"{cue} {new}")])
