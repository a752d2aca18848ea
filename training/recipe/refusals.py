"""Errors in a recipe as one sentence."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from db.errors import HedgerowError


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
