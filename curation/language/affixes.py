"""Negative affixes: telling 'unsafe' from 'uncle' and 'harmless' from 'unless'."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import Any

from curation.language.tokens import load_lexicon, related

_AFFIXES: dict[str, Any] = load_lexicon(Path(__file__).with_name("negative_affixes.json"))
_OPEN_PREFIXES: dict[str, list[str]] = _AFFIXES["open_prefixes"]
_CLOSED_PREFIXES: dict[str, list[str]] = _AFFIXES["closed_prefixes"]
_OPEN_SUFFIXES: dict[str, list[str]] = _AFFIXES["open_suffixes"]
_NOT_NEGATIVE: list[str] = _AFFIXES["not_negative"]
_PREFIXES = sorted({*_OPEN_PREFIXES, *_CLOSED_PREFIXES}, key=len, reverse=True)

MIN_BASE = 2
"""Letters that must remain when the affix is cut off ('unfit' has three)."""


def _listed(word: str, look_alikes: list[str]) -> bool:
    return any(
        word.startswith(entry[:-1]) if entry.endswith("*") else word == entry
        for entry in look_alikes
    )


def as_listed(word: str, start: int, end: int) -> str:
    """A negative affix as a list has it: 'un-', 'non-' (of 'non-smoking', too), '-less'.

    Args:
        start, end: where it is in the lower-case word, as `negative_affix` says.
    """
    affix = word[start:end]
    begins_a_part = start == 0 or word[start - 1] == "-"
    if begins_a_part and end < len(word):  # 'goal-less' ends with a part of its own
        return f"{affix}-"
    return "-less" if affix.startswith("less") else f"-{affix}"  # 'lessly' is the same suffix


@lru_cache(maxsize=65_536)
def _prefix(word: str) -> str:
    """Return the negative prefix that the lexicon sees in the word, or ''."""
    for prefix in _PREFIXES:
        base = word[len(prefix) :]
        if not word.startswith(prefix) or len(base) < MIN_BASE:
            continue
        if prefix in _OPEN_PREFIXES and not _listed(word, _OPEN_PREFIXES[prefix]):
            return prefix
        if base.startswith(tuple(_CLOSED_PREFIXES.get(prefix, ()))):
            return prefix
    return ""


@lru_cache(maxsize=65_536)
def _suffix(word: str) -> str:
    """Return the negative suffix that the lexicon sees in the word, or ''."""
    for suffix, look_alikes in _OPEN_SUFFIXES.items():
        long_enough = len(word) - len(suffix) >= MIN_BASE
        if word.endswith(suffix) and long_enough and not _listed(word, look_alikes):
            return suffix
    return ""


def _affix_of_part(part: str, anchor_words: Collection[str]) -> tuple[int, int] | None:
    if _listed(part, _NOT_NEGATIVE):
        return None
    if suffix := _suffix(part):
        return len(part) - len(suffix), len(part)
    if prefix := _prefix(part):
        return 0, len(prefix)
    # A base that the anchor itself uses is proof enough, whatever the lexicon knows.
    for prefix in _PREFIXES:
        base = part[len(prefix) :].removeprefix("-")
        based = part.startswith(prefix) and len(base) >= 4
        if based and any(related(base, word) for word in anchor_words):
            return 0, len(prefix)
    return None


def negative_affix(
    word: str,
    *,
    anchor_words: Collection[str] = (),
    prefixes: Collection[str] = (),
    suffixes: Collection[str] = (),
) -> tuple[int, int] | None:
    """Return where in a lower-case word its negative affix stands (start, end), or None.

    Parts of a hyphenated word are looked at one by one ('energy-inefficient'). `anchor_words` are
    the content words of the anchor: an affix on one of them is recognised even if rare. With
    `prefixes` or `suffixes`, those replace the built-in ones and every match counts.
    """
    if prefixes or suffixes:
        for prefix in prefixes:
            if word.startswith(prefix.strip("-")) and len(word) > len(prefix) + 1:
                return 0, len(prefix.strip("-"))
        for suffix in suffixes:
            if word.endswith(suffix.strip("-")) and len(word) > len(suffix) + 1:
                return len(word) - len(suffix.strip("-")), len(word)
        return None
    if "-" in word and (whole := _affix_of_part(word, anchor_words)):
        return whole
    offset = 0
    for part in word.split("-"):
        if found := _affix_of_part(part, anchor_words):
            return found[0] + offset, found[1] + offset
        offset += len(part) + 1
    return None
