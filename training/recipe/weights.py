"""Weights of named things, as a line: 'word:0.5,verbal:0'."""

from __future__ import annotations

import re

_ENTRY = re.compile(r"(?P<name>.+?):(?P<weight>[^,:]*)(?:,|$)", re.DOTALL)
"""A name may contain colons and commas: it ends before a weight and a comma, or at the end."""


def weights_in(line: str) -> dict[str, str]:
    """The weight of each name in a line, as text; {} for an empty line.

    Raises:
        ValueError: the line is not a list of 'name:weight' separated by commas, or has a name
            twice.
    """
    found: dict[str, str] = {}
    place = 0
    while line[place:].strip():
        entry = _ENTRY.match(line, place)
        if entry is None:
            raise ValueError("expected name:weight, separated by commas, such as word:0.5,verbal:0")
        name = entry["name"].strip()
        if name in found:
            raise ValueError(f"expected each name once, found {name[:80]!r} twice")
        found[name] = entry["weight"].strip()
        place = entry.end()
    return found
