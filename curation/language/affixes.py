"""Negative affixes: distinguishes 'unsafe' from 'uncle' and 'harmless' from 'unless'."""

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
"""Minimum letters left after removing the affix ('unfit' leaves three)."""


def _listed(word: str, look_alikes: list[str]) -> bool:
    return any(
        word.startswith(entry[:-1]) if entry.endswith("*") else word == entry
        for entry in look_alikes
    )


def as_listed(word: str, start: int, end: int) -> str:
    """Format a negative affix as in the lists: 'un-', 'non-' (also for 'non-smoking'), '-less'.

    Args:
        start, end: its position in the lower-case word, from `negative_affix`.
    """
    affix = word[start:end]
    begins_a_part = start == 0 or word[start - 1] == "-"
    if begins_a_part and end < len(word):  # 'goal-less' ends with only part of the suffix
        return f"{affix}-"
    return "-less" if affix.startswith("less") else f"-{affix}"  # 'lessly' is the same suffix


@lru_cache(maxsize=65_536)
def _prefix(word: str) -> str:
    """Return the word's negative prefix according to the lexicon, or ''."""
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
    """Return the word's negative suffix according to the lexicon, or ''."""
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
    # If the anchor itself uses the base, the lexicon need not know it.
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
    """Return the position (start, end) of a lower-case word's negative affix, or None.

    The parts of a hyphenated word are checked one by one ('energy-inefficient'). `anchor_words` are
    the anchor's content words: an affix on one of them counts even if the word is rare. `prefixes`
    or `suffixes`, if given, replace the built-in ones, and then every match counts.
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
