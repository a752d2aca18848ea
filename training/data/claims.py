"""Statements that are affirmed, weakened and contradicted in free words, which ship with Hedgerow.

Frames such as 'There is no doubt that …' fit any sentence, and an encoder soon knows all of them.
People say how sure they are in ways that belong to what they speak of; these are examples of it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("claims.txt")


class Stance(NamedTuple):
    """A statement, and what is said for it and against it.

    Attributes:
        affirmed: two sentences that claim it without reservation, often with a negator.
        weakened: two that leave it open.
        contradicted: one that denies it with a negator, one that claims the opposite without any.
    """

    statement: str
    affirmed: tuple[str, str]
    weakened: tuple[str, str]
    contradicted: tuple[str, str]


@cache
def stances() -> tuple[Stance, ...]:
    """Those that ship, in the order of the file.

    They were written for this project by a large language model that had seen neither the corpus
    nor any benchmark: a third by field, from science to beliefs, two thirds with an affirmation
    that negates an opposite.
    """
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return tuple(_stance(*line.split(" | ")) for line in lines if line)


def _stance(
    statement: str, affirmed: str, also: str, weakened: str, or_so: str, denied: str, opposite: str
) -> Stance:
    return Stance(statement, (affirmed, also), (weakened, or_so), (denied, opposite))
