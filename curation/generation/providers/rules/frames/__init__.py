"""Frames: clauses around a whole statement that affirm, weaken, question or deny it.

Each type has a list in a text file, one frame per line, with '{}' for the statement. Every line was
checked against the type's guideline.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from curation.content_uids import bucket
from curation.generation.providers.rules.clause import Clause, Skipped, SkipReason, lowered_opening
from curation.generation.providers.rules.main_clause import is_one_statement
from curation.generation.providers.rules.scope import check_reasons

FRAMED = ("affirmation", "free_hedge", "unsupported", "absolute")
"""The types that have frames."""

LONGEST_ENCLOSED = 14
"""Maximum words in a statement that has a frame after it.

After a longer one, the frame seems to belong to the last phrase only.
"""

_SALT = "hedgerow/rules-frame/1:"
_OF_OTHERS = ("free_hedge", "unsupported")
"""Types whose frames sound odd around facts the writer must know: 'Nobody knows if I am ill'."""

_ONESELF = frozenset("i me myself we us ourselves".split())

_STANCE = frozenset(
    "certainly definitely surely clearly obviously evidently undoubtedly indeed actually really"
    " fortunately unfortunately sadly luckily surprisingly however moreover therefore thus hence"
    " nevertheless otherwise instead meanwhile".split()
)


@cache
def frames_of(type_id: str) -> tuple[str, ...]:
    """Return the frames of a type in ``FRAMED``, in file order."""
    file = Path(__file__).with_name(f"{type_id}.txt")
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
    opening = lowered_opening(clause)
    for frame in _in_order(type_id, clause.text, cue):
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
    if contrast or _STANCE & {clause.word(i) for i in range(clause.end)}:
        raise Skipped(SkipReason.SCOPE)
    if clause.subject_start > 0 or (type_id in _OF_OTHERS and _of_oneself(clause)):
        raise Skipped(SkipReason.NO_CONSTRUCTION)  # 'whether when we arrived, …'


def _of_oneself(clause: Clause) -> bool:
    return bool(_ONESELF & {clause.word(i) for i in range(clause.end)})


def _in_order(type_id: str, text: str, cue: str) -> Iterator[str]:
    """Return the requested frame first, then the others in an order that depends on the text."""
    frames = frames_of(type_id)
    yield from (frame for frame in frames if cue == cue_of(frame))
    salt = f"{_SALT}{type_id}:"
    yield from sorted(frames, key=lambda frame: bucket(f"{frame}|{text}", salt=salt))


def _fits(clause: Clause, frame: str) -> bool:
    before, after = frame.split("{}")
    if "I" in frame.split() and _of_oneself(clause):
        return False  # 'I know for a fact that I like it'
    if before.endswith("that ") and clause.tokens[0].word == "That":
        return False  # 'that that …'
    if not after:
        return True
    return clause.end <= LONGEST_ENCLOSED and not set(",SWC") & set(clause.letters[: clause.end])


def _filled(clause: Clause, frame: str, opening: str | None) -> str:
    """Insert the statement; its full stop, if it has one, moves to the end of the result."""
    first, end = clause.tokens[0], clause.tokens[clause.end - 1].end
    word = first.word if opening is None or frame.startswith("{}") else opening
    return frame.replace("{}", word + clause.text[first.end : end]) + clause.text[end:]
