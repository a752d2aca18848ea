"""Slight edits of sentences: copies with some words removed or replaced.

Such pairs have graded similarities, which finetuning on contradictions makes less graded.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from curation.language.tokens import NEGATOR_WORDS

MOST = 0.3
"""Maximum share of a text's words that are removed or replaced; at least one word."""

FEWEST_WORDS = 3
"""Minimum number of words of an edited copy. Texts without more words are returned unchanged."""


def edited(text: str, others: Sequence[str], chance: random.Random) -> str:
    """A random edit: a part of the text, words removed, words replaced, or another text's ending.

    Negators are neither removed nor added, because training determines their effect.

    Args:
        others: texts whose words may be used; at least one.
    """
    words = text.split()
    if len(words) <= FEWEST_WORDS:
        return text
    change = chance.choice((_cut, _thinned, _exchanged, _spliced))
    found = change(
        words, [word for word in chance.choice(others).split() if not _negates(word)], chance
    )
    kept = [word for word in words if _negates(word)]
    if len(found) < FEWEST_WORDS or [word for word in found if _negates(word)] != kept:
        return text
    return " ".join(found)


def _negates(word: str) -> bool:
    plain = word.lower().strip(".,;:!?\"'()")
    return plain in NEGATOR_WORDS or plain.endswith(("n't", "n’t"))


def _cut(words: list[str], other: list[str], chance: random.Random) -> list[str]:
    length = chance.randint(max(FEWEST_WORDS, len(words) // 2), len(words) - 1)
    start = chance.randint(0, len(words) - length)
    return words[start : start + length]


def _thinned(words: list[str], other: list[str], chance: random.Random) -> list[str]:
    chosen = _some(words, chance)
    return [word for place, word in enumerate(words) if place not in chosen]


def _exchanged(words: list[str], other: list[str], chance: random.Random) -> list[str]:
    if not other:
        return words
    chosen = _some(words, chance)
    return [chance.choice(other) if place in chosen else word for place, word in enumerate(words)]


def _some(words: list[str], chance: random.Random) -> set[int]:
    """The indices of some words that are not negators."""
    places = [place for place, word in enumerate(words) if not _negates(word)]
    most = max(1, round(MOST * len(words)))
    return set(chance.sample(places, min(chance.randint(1, most), len(places))))


def _spliced(words: list[str], other: list[str], chance: random.Random) -> list[str]:
    return words[: len(words) * 2 // 3] + other[-max(1, len(other) // 3) :]
