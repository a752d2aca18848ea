"""How much encoders read, and how fast: what the time of reading is proportional to.

It is counted in characters, since the tokens of a text are known only to its encoder.
"""

from __future__ import annotations

from collections.abc import Iterable

PACE = "characters_per_second"
"""The figure of a run that says how fast it read, as `characters` counts."""

MARKS = 9
"""Characters that the marks at the ends of a text count for. With them, a token is 4.5 to 4.8
characters in each bundled corpus, where texts have 56 to 99 characters on average; without them
3.9 to 4.4."""

PER_TOKEN = 4.6
"""Characters of a token, on average, in English."""


def characters(texts: Iterable[str], *, longest: int | None = None) -> int:
    """What there is to read in these texts.

    Args:
        longest: tokens of a text; the rest of it is cut off.
    """
    return round(sum(length(len(text), longest=longest) for text in texts))


def length(letters: float, *, longest: int | None = None) -> float:
    """What there is to read in a text of so many letters, or in one of that length on average."""
    whole = letters + MARKS
    return whole if longest is None else min(whole, longest * PER_TOKEN)
