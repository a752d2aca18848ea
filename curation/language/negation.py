"""Negators, negative affixes, and known antonyms of a word."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from curation.language.tokens import (
    ABSOLUTE_NEGATORS,
    APPROXIMATE_NEGATORS,
    OTHER_NEGATORS,
    Analysis,
    load_lexicon,
    related,
    stem,
)

# -- Negative affixes: distinguishes 'unsafe' from 'uncle' and 'harmless' from 'unless' -----------


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


# -- Finds negators and classifies them -----------------------------------------------------------


_FOCUS = frozenset({"only", "just", "merely", "simply", "least"})
"""Before these words, 'not' does not negate the clause ("not only sings but dances")."""


class Negator(NamedTuple):
    """A negator: its token class, and its first and last token."""

    kind: str
    first: int
    last: int


def find_negators(analysis: Analysis) -> list[Negator]:
    """Find every negator. 'no one', 'far from' and 'anything but' each count as one."""
    words = [*analysis.words, "", ""]
    found: list[Negator] = []
    for i, word in enumerate(analysis.words):
        following = words[i + 1]
        if word == "no" and following == "." and words[i + 2][:1].isdigit():
            continue  # "No. 5"
        if word == "not" and following not in _FOCUS:
            found.append(Negator("verbal_negator", i, i))
        elif word in ABSOLUTE_NEGATORS:
            found.append(Negator("absolute_negator", i, i + (word == "no" and following == "one")))
        elif word in APPROXIMATE_NEGATORS:
            found.append(Negator("approximate_negator", i, i))
        elif word in OTHER_NEGATORS:
            found.append(Negator("negator", i, i))
        elif (word, following) in {("far", "from"), ("anything", "but")}:
            found.append(Negator("negator", i, i + 1))
    return found


# -- Known antonyms of a word, from the bundled list of English antonyms --------------------------


FILE = Path(__file__).with_name("antonyms.json")


def known_antonyms(word: str) -> frozenset[str]:
    """Return the stems of the word's antonyms in the list."""
    return _by_stem().get(stem(word), frozenset())


@lru_cache(maxsize=1)
def _by_stem() -> dict[str, frozenset[str]]:
    """Map each stem to its antonyms' stems. Multiword entries ('a_bargain') are left out."""
    found: dict[str, set[str]] = {}
    for kind in load_lexicon(FILE)["pairs"].values():
        for pair in kind:
            sides = [[stem(w) for w in side.split() if "_" not in w] for side in pair.split("|")]
            for ours, others in (sides, sides[::-1]):
                for word in ours:
                    found.setdefault(word, set()).update(others)
    return {word: frozenset(others) for word, others in found.items()}
