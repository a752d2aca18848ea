"""Hedge cues that can be placed by rule, and frames around a whole statement."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from curation.generation.providers.rules.clause import (
    FINITE,
    SETS,
    WORDS,
    Clause,
    Skipped,
    SkipReason,
    edited,
    lowered_opening,
    participle,
)
from curation.generation.providers.rules.main_clause import is_one_clause, is_one_statement
from curation.generation.providers.rules.scope import check_reasons
from curation.generation.providers.rules.verbal import is_main_have, lexical_base
from curation.splits import bucket

_FRAMES: dict[str, dict[str, str]] = WORDS["frames"]

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


_MODALS = ("may", "might")
PLACEABLE: dict[str, tuple[str, ...]] = {
    "word": tuple(dict.fromkeys([*WORDS["hedging_adverbs"], *_MODALS, *_FRAMES["word"]])),
    "phrase": tuple(_FRAMES["phrase"]),
}
"""By type, the cues in the paper's list that the rules can place."""


def hedge(clause: Clause, type_id: str, cue: str) -> tuple[str, str]:
    """Hedge the statement with the requested cue if it can be placed, else with another one.

    Returns:
        The text, and the cue that it uses.

    Raises:
        Skipped: no cue can be placed.
    """
    may = clause.kind == "M" and clause.word(clause.finite) in _MODALS
    if may or clause.lexical_verb in SETS["hedged"]:
        raise Skipped(SkipReason.UNSUITABLE)  # it may already be hedged
    if not is_one_statement(clause):
        raise Skipped(SkipReason.COORDINATED)
    if clause.letters[0] == "V" and clause.subject_start > 0 and clause.word(0).endswith("ly"):
        raise Skipped(SkipReason.NO_CUE)
    known, salt = PLACEABLE[type_id], f"hedgerow/rules-cue/1:{type_id}:{cue}:"
    for candidate in _in_order(known, clause.text, salt, first=[cue] if cue in known else ()):
        new = _place(clause, type_id, candidate)
        if new is not None:
            return new, candidate
    raise Skipped(SkipReason.NO_CUE)


def _in_order(known: Sequence[str], text: str, salt: str, *, first: Sequence[str]) -> Iterator[str]:
    """Return the requested cue or frame first, then all in an order that depends on the text."""
    yield from first
    yield from sorted(known, key=lambda other: bucket(f"{other}|{text}", salt=salt))


def _place(clause: Clause, type_id: str, cue: str) -> str | None:
    of_oneself = clause.word(clause.head) in ("i", "we")
    inside = type_id == "word" and is_one_clause(clause)
    if inside and cue in SETS["hedging_adverbs"]:
        fits = not of_oneself or cue in ("possibly", "probably")
        return _with_adverb(clause, cue) if fits else None
    if inside and cue in _MODALS and not of_oneself:
        new = _with_modal(clause, cue)
        if new is not None:
            return new
    frame = _FRAMES[type_id].get(cue)
    return _framed(clause, frame) if frame else None


def _framed(clause: Clause, frame: str) -> str | None:
    """Put the whole statement in a frame: 'It seems that …'."""
    first, word = clause.tokens[0], lowered_opening(clause)
    unfit = (
        (not frame.endswith(", {}") and not _may_follow(clause, frame))
        # 'I feel like a teacher …' means something else.
        or (frame.endswith("like {}") and first.lower in ("a", "an"))
        or (frame.endswith("that {}") and first.word == "That")  # 'that that …'
        # Nobody says 'It is debatable, but I think that I like it'.
        or (clause.word(clause.head) in ("i", "we") and not frame.startswith(_OF_ONESELF))
    )
    return None if unfit or word is None else frame.replace("{}", word + clause.text[first.end :])


def _may_follow(clause: Clause, frame: str) -> bool:
    """Whether the statement's beginning fits after the frame: not 'whether when we arrived'."""
    letter = clause.letters[0]
    if letter == "S":
        return frame.endswith("that {}")
    is_subject = clause.tokens[0].tag == "VVG" and clause.subject_start == 0
    return letter not in "GE" or is_subject  # 'that swimming here is legal'


def _with_adverb(clause: Clause, cue: str) -> str | None:
    """Write 'is probably open', 'probably sells' if a single clause makes the claim."""
    verb = clause.verb
    unfit = (
        _joins_claims(clause)
        or clause.word(clause.finite) in ("must", "should")  # 'must probably' is not about duty
        or "V" in (clause.letter(clause.finite + 1), clause.letter(clause.finite - 1))
    )
    is_main = clause.kind in ("F", "O") or (clause.kind == "H" and is_main_have(clause))
    if unfit or (is_main and clause.is_contracted):
        return None
    if is_main:
        return edited(clause.text, [(verb.start, verb.start, f"{cue} ")])
    return edited(clause.text, [(verb.end, verb.end, f" {cue}")])


def _joins_claims(clause: Clause) -> bool:
    """Whether a finite verb follows a conjunction, so that there is more than one claim."""
    return not set(FINITE).isdisjoint(clause.tail.partition("C")[2])


def _with_modal(clause: Clause, cue: str) -> str | None:
    """Write 'may be open', 'might have sold' for 'is open', 'sold'."""
    verb = clause.verb
    between = clause.finite + 1 < clause.after_adverbs() < clause.end  # 'might be typically used'
    unfit = between or clause.is_contracted or clause.kind in ("M", "O") or _joins_claims(clause)
    if unfit or clause.finite != clause.subject_end:
        return None
    was = verb.tag in ("VBD", "VHD", "VVD")
    if clause.kind == "B":
        new = "have been" if was else "be"
    elif clause.kind == "H":
        new = "have had" if was and is_main_have(clause) else "have"
    else:
        base = lexical_base(clause)
        new = f"have {participle(base)}" if was else base
    return edited(clause.text, [(verb.start, verb.end, f"{cue} {new}")])


# -- Frames: clauses around a whole statement that affirm, weaken, question or deny it ------------
#
# Each type has a list in frames/, one frame per line, with '{}' for the statement. Every line was
# checked against the type's guideline.


FRAMED = ("affirmation", "free_hedge", "unsupported", "absolute")
"""The types that have frames."""

LONGEST_ENCLOSED = 14
"""Maximum words in a statement that has a frame after it.

After a longer one, the frame seems to belong to the last phrase only.
"""

_OF_OTHERS = ("free_hedge", "unsupported")
"""Types whose frames sound odd around facts the writer must know: 'Nobody knows if I am ill'."""


@cache
def frames_of(type_id: str) -> tuple[str, ...]:
    """Return the frames of a type in ``FRAMED``, in file order."""
    file = Path(__file__).with_name("frames") / f"{type_id}.txt"
    return tuple(file.read_text(encoding="utf-8").splitlines())


def cue_of(frame: str) -> str:
    """Return a frame's words as stored: 'There is no doubt that', 'Whether … is open'."""
    return frame.replace("{}", "…").strip("…,: ")


def put_in_frame(clause: Clause, type_id: str, cue: str) -> tuple[str, str]:
    """Put the statement in a frame: the requested one if it fits, else one chosen by a hash.

    Returns:
        The text, and the frame's words.

    Raises:
        Skipped: no frame fits.
    """
    _check(clause, type_id)
    opening, frames = lowered_opening(clause), frames_of(type_id)
    asked = [frame for frame in frames if cue == cue_of(frame)]
    salt = f"hedgerow/rules-frame/1:{type_id}:"
    for frame in _in_order(frames, clause.text, salt, first=asked):
        if _fits(clause, frame) and (opening is not None or frame.startswith("{}")):
            return _filled(clause, frame, opening), cue_of(frame)
    raise Skipped(SkipReason.NO_CONSTRUCTION)


def _check(clause: Clause, type_id: str) -> None:
    """Raise ``Skipped`` if no frame can apply to the whole statement."""
    if not is_one_statement(clause):
        raise Skipped(SkipReason.COORDINATED)
    check_reasons(clause)  # 'Nobody knows whether he left because …' questions only the reason
    contrast = any(
        clause.word(i) == "while" for i in range(clause.end) if clause.letter(i - 1) == ","
    )
    if contrast or SETS["stance"] & {clause.word(i) for i in range(clause.end)}:
        raise Skipped(SkipReason.SCOPE)
    if clause.subject_start > 0 or (type_id in _OF_OTHERS and _of_oneself(clause)):
        raise Skipped(SkipReason.NO_CONSTRUCTION)  # 'whether when we arrived, …'


def _of_oneself(clause: Clause) -> bool:
    return bool(SETS["oneself"] & {clause.word(i) for i in range(clause.end)})


def _fits(clause: Clause, frame: str) -> bool:
    before, after = frame.split("{}")
    is_simple = not set(",SWC") & set(clause.letters[: clause.end])
    return not (
        ("I" in frame.split() and _of_oneself(clause))  # 'I know for a fact that I like it'
        or (before.endswith("that ") and clause.tokens[0].word == "That")  # 'that that …'
        or (after and not (is_simple and clause.end <= LONGEST_ENCLOSED))
    )


def _filled(clause: Clause, frame: str, opening: str | None) -> str:
    """Insert the statement; its full stop, if it has one, moves to the end of the result."""
    first, end = clause.tokens[0], clause.tokens[clause.end - 1].end
    word = first.word if opening is None or frame.startswith("{}") else opening
    return frame.replace("{}", word + clause.text[first.end : end]) + clause.text[end:]
