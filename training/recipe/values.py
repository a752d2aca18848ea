"""Values of a recipe as people type them, and errors in them as one sentence."""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from db.errors import HedgerowError

# -- Errors in a recipe as one sentence -----------------------------------------------------------


def refuse_other_version(values: Mapping[str, Any], *, expected: int) -> None:
    """Refuse the values of a recipe that another version of Hedgerow wrote."""
    version = values.get("version", expected)
    if str(version) == str(expected):
        return
    why = "a newer version needs a newer Hedgerow."
    if str(version).isdecimal() and int(version) < expected:
        why = "an older Hedgerow wrote it, so start from a preset and set its values again."
    raise HedgerowError(f"The recipe has version {shown(version)}, expected {expected}; {why}")


def refuse_unknown(values: Mapping[str, Any], *, known: Collection[str]) -> None:
    """Refuse an unknown key; the message suggests a similar one, or lists all."""
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"its keys are {', '.join(known)}."
            raise HedgerowError(f"The recipe has no key {shown(key)}; {hint}")


def sentence(error: ValidationError) -> str:
    """All errors of a recipe, in one sentence."""
    parts = []
    for detail in error.errors(include_url=False):
        problem = detail["msg"].removeprefix("Value error, ")
        if detail["loc"]:
            problem = problem.removeprefix("Input ").removeprefix("String ")
            place, *within = detail["loc"]
            of = f" of {shown(within[0])}" if within and isinstance(within[0], str) else ""
            parts.append(f"{place}{of} {problem}, found {shown(detail['input'])}")
        else:
            parts.append(problem)
    return f"The recipe is not valid: {'; '.join(parts)}."


def shown(value: object) -> str:
    """A value as shown in a message: quoted and shortened."""
    return reprlib.repr(value)


# -- Changes of a recipe as `--set` takes them: key=value -----------------------------------------


def changes_in(assignments: Sequence[str]) -> dict[str, str | None]:
    """The values by key. The last value of a key counts; 'none' means no limit, or no value.

    Raises:
        HedgerowError: an assignment without '='.
    """
    changes: dict[str, str | None] = {}
    for assignment in assignments:
        key, equals, value = (part.strip() for part in assignment.partition("="))
        if not key or not equals:
            raise HedgerowError(f"Expected key=value, such as epochs=1, found {shown(assignment)}.")
        changes[key] = None if value.lower() in {"none", "null"} else value
    return changes


# -- Weights of named things, as a line: 'word:0.5,verbal:0' --------------------------------------


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
