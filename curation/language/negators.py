"""Finds negators and classifies them."""

from __future__ import annotations

from typing import NamedTuple

from curation.language.tokens import (
    ABSOLUTE_NEGATORS,
    APPROXIMATE_NEGATORS,
    OTHER_NEGATORS,
    Analysis,
)

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
