"""Applies a change in one sentence to another sentence that was made from it.

Only whole words change. The person who sees the result decides whether it reads well.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from curation.content_uids import canonical
from curation.language.tagging import may_be_common

MAX_WORDS = 400
"""Longer texts are left unchanged, because comparing takes quadratic time."""

_TOKEN = re.compile(r"\w+(?:[-'’.]\w+)*|[^\w\s]")


class _Change(NamedTuple):
    """Replaces tokens ``first`` to ``end`` (exclusive) of the old version with ``words``."""

    first: int
    end: int
    words: list[str]


def carry(text: str, *, old: str, new: str) -> str | None:
    """Apply the changes from the `old` to the `new` version of a sentence to `text`.

    Only whole words change. A change applies where `text` has the old words in the same position as
    the old version, or only once. Capitals follow `text`.

    Returns:
        The changed text, or None if no change applies.
    """
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    found = list(_TOKEN.finditer(text))
    words = [match[0] for match in found]
    if max(len(before), len(after), len(words)) > MAX_WORDS:
        return None
    place = _places(before, words)
    edits = [
        edit
        for kind, first, end, start, stop in _matcher(before, after).get_opcodes()
        if kind != "equal"
        and (edit := _edit(_Change(first, end, after[start:stop]), before, words, place))
    ]
    if not edits:
        return None
    return canonical(_written(text, found, sorted(edits, reverse=True)))


def _folded(words: Iterable[str]) -> list[str]:
    return [word.casefold().replace("’", "'") for word in words]


def _matcher(one: Sequence[str], other: Sequence[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, _folded(one), _folded(other), autojunk=False)


def _places(before: list[str], words: list[str]) -> dict[int, int]:
    """Map each token of the old version to the matching token of the text."""
    return {
        block.a + step: block.b + step
        for block in _matcher(before, words).get_matching_blocks()
        for step in range(block.size)
    }


_Edit = tuple[int, int, list[str]]
"""The first and the end (exclusive) token to replace in a text, and the words to insert."""


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
    """The position of these words if the text has them only once and they are distinctive."""
    if sum(len(word) for word in wanted) < 4:
        return None  # 'the', 'of': too common
    size = len(wanted)
    starts = [i for i in range(len(words) - size + 1) if words[i : i + size] == wanted]
    return starts[0] if len(starts) == 1 else None


def _insertion(
    change: _Change, before: list[str], words: list[str], place: Mapping[int, int]
) -> _Edit | None:
    """Insert before the word that follows in the new version, or else after the preceding word."""
    right, left = place.get(change.first), place.get(change.first - 1)
    at_end = change.first == len(before) or not before[change.first][0].isalnum()
    if right is not None and not at_end:
        new = _in_case_of(change.words, like=before[change.first], now=words[right])
        if change.first == 0 and right == 0 and may_be_common(words[0]):
            return 0, 1, [*change.words, words[0][:1].lower() + words[0][1:]]
        return right, right, change.words if change.first else new
    return None if left is None else (left + 1, left + 1, change.words)


def _in_case_of(new: list[str], *, like: str, now: str) -> list[str]:
    """Match the first new word's capital to the text where the old version's differs."""
    if not new or like[:1].isupper() == now[:1].isupper():
        return new
    first = new[0]
    if now[:1].isupper():
        return [first[:1].upper() + first[1:], *new[1:]]
    is_name = first[:1].isupper() and not may_be_common(first)
    return new if is_name else [first[:1].lower() + first[1:], *new[1:]]


def _written(text: str, found: Sequence[re.Match[str]], edits: Sequence[_Edit]) -> str:
    """Apply the edits, which are sorted from last to first, and keep the text's initial capital."""
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
    """Join words with spaces, but put none before punctuation."""
    joined = ""
    for word in words:
        joined += word if not joined or not word[0].isalnum() else f" {word}"
    return joined


def _with_space(text: str, start: int, stop: int) -> tuple[int, int]:
    """Extend the range by the space before or after it, so that one space remains."""
    if text[stop : stop + 1] == " " and start == 0:
        return start, stop + 1
    return (start - 1, stop) if text[start - 1 : start] == " " else (start, stop)
