"""Hedge cues: the paper's two lists, and finding a requested cue in a text.

A cue is matched as a writer would use it, not letter by letter: inflected ('look like' in "looks
like"), correctly spelt ('cant' in "can't", 'wether' in "whether"), contracted ('do not
convincingly' in "don't convincingly") or interrupted ('not sure' in "not entirely sure").
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from curation.language.tokens import NEGATOR_WORDS, Analysis, lemma, tokenize
from curation.taxonomy.built_in import VariantType

MAX_GAP = 2
"""Words that may appear between two words of a cue ("not *at all* sure", "looks *to me* like")."""

_FILE = Path(__file__).with_name("hedge_cues.json")
_LISTS: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))

HEDGE_CUES: dict[str, tuple[str, ...]] = {
    kind: tuple(entry["cue"] for entry in _LISTS[kind]) for kind in ("word", "phrase")
}
"""Cues as printed in the paper (appendix A): 134 single words, 45 phrases."""

SPELLING: dict[str, str] = {
    entry["cue"]: entry["spelling"]
    for kind in HEDGE_CUES
    for entry in _LISTS[kind]
    if "spelling" in entry
}
"""The correct spelling of cues that are printed with an obvious mistake."""


@lru_cache(maxsize=4096)
def _lemmas(phrase: str) -> tuple[str, ...]:
    return tuple(lemma(token.word) for token in tokenize(phrase))


@lru_cache(maxsize=4096)
def _patterns(cue: str) -> tuple[tuple[str, ...], ...]:
    """Return the lemma sequences of a cue: as printed and as corrected, with 'why/if' as two.

    The printed misspelling counts too: whether a text may contain it is for a reviewer to decide.
    """
    spelled = SPELLING.get(cue, cue)
    alternatives = spelled.split("/") if "/" in spelled else [spelled, cue]
    return tuple(dict.fromkeys(_lemmas(alternative) for alternative in alternatives))


def _match_at(
    words: Sequence[str], lemmas: Sequence[str], pattern: tuple[str, ...], start: int, gap: int
) -> list[int] | None:
    """Match `pattern` from token `start` on, with at most `gap` tokens before each next word."""
    found = [start]
    for wanted in pattern[1:]:
        last = found[-1]
        for position in range(last + 1, min(last + 2 + gap, len(lemmas))):
            if lemmas[position] == wanted:
                found.append(position)
                break
            if not words[position][-1].isalnum() or words[position] in NEGATOR_WORDS:
                return None  # a cue does not extend across a comma or a second negation
        else:
            return None
    return found


def _find(analysis: Analysis, pattern: tuple[str, ...], *, gap: int = MAX_GAP) -> list[list[int]]:
    occurrences: list[list[int]] = []
    start = 0
    while pattern and start < len(analysis.lemmas):
        found = None
        if analysis.lemmas[start] == pattern[0]:
            found = _match_at(analysis.words, analysis.lemmas, pattern, start, gap)
        if found:
            occurrences.append(found)
        start = found[-1] + 1 if found else start + 1
    return occurrences


def find_phrase(analysis: Analysis, phrase: str) -> list[list[int]]:
    """Return the token indexes of each occurrence of a word or phrase, inflected or interrupted."""
    return _find(analysis, _lemmas(phrase))


def find_exactly(analysis: Analysis, phrase: str) -> list[list[int]]:
    """Return the token indexes of each uninterrupted occurrence of a phrase."""
    return _find(analysis, _lemmas(phrase), gap=0)


def find_cue(analysis: Analysis, cue: str) -> list[list[int]]:
    """Return the token indexes of each occurrence of a hedge cue, in order."""
    return sorted(found for pattern in _patterns(cue) for found in _find(analysis, pattern))


def listed_cues(entry: VariantType) -> tuple[str, ...] | None:
    """Return the cues in a type's list: the paper's for that type, or its own; or None."""
    if not entry.needs_cue:
        return None
    return HEDGE_CUES.get(entry.id) or entry.surface_check.require_words or None


def cue_list(entry: VariantType) -> tuple[str, ...]:
    """Return the cues that a type can use: those in its list, or else both lists of the paper."""
    return listed_cues(entry) or tuple(cue for cues in HEDGE_CUES.values() for cue in cues)


def known_cue(text: str, cues: Iterable[str]) -> str | None:
    """Return the longest of these cues in a text, or the first of equal length; None if none."""
    analysis = Analysis(text)
    found = [
        (-len(places[0]), places[0], cue)
        for cue in dict.fromkeys(cues)
        if (places := find_cue(analysis, cue))
    ]
    return min(found)[2] if found else None


def new_cues(*, anchor: str, text: str, cues: Iterable[str]) -> list[str]:
    """Return those of these cues that a text uses more often than its anchor, in the text's order.

    A cue inside a longer one ('sure' in 'not sure') belongs to that one. Of several that match the
    same words ('seem', 'seeming'), the one with the same spelling counts, or else the shortest.
    """
    analysis, before = Analysis(text), Analysis(anchor)
    found: dict[frozenset[int], list[str]] = {}
    for cue in dict.fromkeys(cues):
        places = find_cue(analysis, cue)
        if len(places) > len(find_cue(before, cue)):
            for place in places:
                found.setdefault(frozenset(place), []).append(cue)
    whole = [place for place in found if not any(place < other for other in found)]
    chosen = (_as_written(analysis, place, found[place]) for place in sorted(whole, key=min))
    return list(dict.fromkeys(chosen))


def _as_written(analysis: Analysis, place: frozenset[int], cues: Sequence[str]) -> str:
    """Return the intended cue among those at one position."""
    tokens = analysis.tokens
    written = analysis.text[tokens[min(place)].start : tokens[max(place)].end]
    plain = written.lower().replace("’", "'")
    return min(cues, key=lambda c: (plain != c, plain != SPELLING.get(c), len(c), c))
