"""How much text encoders read, and how fast: encoding time is proportional to this amount.

Text is counted in characters, because only an encoder knows a text's tokens.
"""

from __future__ import annotations

from collections.abc import Iterable

PACE = "characters_per_second"
"""The name of a run's figure for encoding speed, in characters as `characters` counts them."""

MARKS = 9
"""Characters that a text's start and end tokens count for. With them, a token has 4.5 to 4.8
characters in each bundled corpus, where texts average 56 to 99 characters; without them 3.9 to 4.4.
"""

PER_TOKEN = 4.6
"""Characters per token in English, on average."""


def characters(texts: Iterable[str], *, longest: int | None = None) -> int:
    """How many characters an encoder reads in these texts.

    Args:
        longest: the maximum tokens per text; the rest is cut off.
    """
    return round(sum(length(len(text), longest=longest) for text in texts))


def length(letters: float, *, longest: int | None = None) -> float:
    """How many characters an encoder reads in a text of this length, or of this average length."""
    whole = letters + MARKS
    return whole if longest is None else min(whole, longest * PER_TOKEN)
