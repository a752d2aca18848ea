"""Making a change of one sentence in another that was made from it.

Whole words only; the person who sees the result decides whether it reads well.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from curation.content_uids import canonical
from curation.language.tagging import may_be_common

MAX_WORDS = 400
"""Longer texts are left alone: comparing takes quadratic time."""

_TOKEN = re.compile(r"\w+(?:[-'’.]\w+)*|[^\w\s]")


class _Change(NamedTuple):
    """Tokens ``first`` to ``end`` of the old wording give way to ``words`` of the new one."""

    first: int
    end: int
    words: list[str]


def carry(text: str, *, old: str, new: str) -> str | None:
    """The text with what changed from the old wording to the new one, in the text's own case.

    Whole words only. A change is made where the text has the old words in the place that they have
    in the old wording.

    Returns:
        None where no change applies.
    """
    before, after, found = _tokens(old), _tokens(new), list(_TOKEN.finditer(text))
    words = [match[0] for match in found]
    if max(len(before), len(after), len(words)) > MAX_WORDS:
        return None
    place = _places(before, words)
    edits = [
        edit
        for change in _changes(before, after)
        if (edit := _edit(change, before, words, place)) is not None
    ]
    if not edits:
        return None
    return canonical(_written(text, found, sorted(edits, reverse=True)))


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _folded(words: Iterable[str]) -> list[str]:
    return [word.casefold().replace("’", "'") for word in words]


def _matcher(one: Sequence[str], other: Sequence[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, _folded(one), _folded(other), autojunk=False)


def _changes(before: list[str], after: list[str]) -> list[_Change]:
    return [
        _Change(i1, i2, after[j1:j2])
        for tag, i1, i2, j1, j2 in _matcher(before, after).get_opcodes()
        if tag != "equal"
    ]


def _places(before: list[str], words: list[str]) -> dict[int, int]:
    """For each token of the old wording, the token of the text that stands in its place."""
    found: dict[int, int] = {}
    for block in _matcher(before, words).get_matching_blocks():
        found |= {block.a + step: block.b + step for step in range(block.size)}
    return found


_Edit = tuple[int, int, list[str]]
"""First and last-but-one token of a text, and the words that take their place."""


def _edit(
    change: _Change, before: list[str], words: list[str], place: Mapping[int, int]
) -> _Edit | None:
    if change.first == change.end:
        return _insertion(change, before, words, place)
    size = change.end - change.first
    first = place.get(change.first)
    if first is None or any(place.get(change.first + i) != first + i for i in range(size)):
        first = _only_place(_folded(before[change.first : change.end]), _folded(words))
    if first is None:
        return None
    end = first + size
    return first, end, _in_case_of(change.words, like=before[change.first], now=words[first])


def _only_place(wanted: list[str], words: list[str]) -> int | None:
    """Where the text has these words somewhere else, if it has them once and they tell enough."""
    if sum(len(word) for word in wanted) < 4:
        return None  # 'the', 'of': they may be any
    size = len(wanted)
    starts = [i for i in range(len(words) - size + 1) if words[i : i + size] == wanted]
    return starts[0] if len(starts) == 1 else None


def _insertion(
    change: _Change, before: list[str], words: list[str], place: Mapping[int, int]
) -> _Edit | None:
    """Before the word that it stands before in the new wording, or else behind the one before."""
    right, left = place.get(change.first), place.get(change.first - 1)
    at_end = change.first == len(before) or not before[change.first][0].isalnum()
    if right is not None and not at_end:
        new = _in_case_of(change.words, like=before[change.first], now=words[right])
        if change.first == 0 and right == 0 and may_be_common(words[0]):
            return 0, 1, [*change.words, words[0][:1].lower() + words[0][1:]]
        return right, right, change.words if change.first else new
    if left is None:
        return None
    return left + 1, left + 1, change.words


def _in_case_of(new: list[str], *, like: str, now: str) -> list[str]:
    """The new words, with the capital that the text has or lacks where the old wording has one."""
    if not new or like[:1].isupper() == now[:1].isupper():
        return new
    first = new[0]
    if now[:1].isupper():
        return [first[:1].upper() + first[1:], *new[1:]]
    is_name = first[:1].isupper() and not may_be_common(first)
    return new if is_name else [first[:1].lower() + first[1:], *new[1:]]


def _written(text: str, found: Sequence[re.Match[str]], edits: Sequence[_Edit]) -> str:
    """The text with these edits, the last one first, and its capital at the beginning."""
    for first, end, words in edits:
        start = found[first].start() if first < len(found) else len(text)
        stop = found[end - 1].end() if end > first else start
        middle = _joined(words)
        if not words:
            start, stop = _with_space(text, start, stop)
        elif end == first and words[0][0].isalnum():
            behind = first == len(found) or not found[first][0][0].isalnum()
            start = stop = found[first - 1].end() if behind and first else start
            middle = f" {middle}" if behind else f"{middle} "
        text = text[:start] + middle + text[stop:]
    began_upper = bool(found) and found[0][0][:1].isupper()
    return text[:1].upper() + text[1:] if began_upper else text


def _joined(words: Sequence[str]) -> str:
    """Words with spaces between them, but none before punctuation."""
    joined = ""
    for word in words:
        joined += word if not joined or not word[0].isalnum() else f" {word}"
    return joined


def _with_space(text: str, start: int, stop: int) -> tuple[int, int]:
    """The stretch with the space before or behind it, so that one remains."""
    if text[stop : stop + 1] == " " and start == 0:
        return start, stop + 1
    return (start - 1, stop) if text[start - 1 : start] == " " else (start, stop)
