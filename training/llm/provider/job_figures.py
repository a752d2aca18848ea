"""The losses that a provider reports: in events during training, and in a file at the end.

The names are OpenAI's. Losses that a server does not report have no curve.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from training.finetune.curve_names import LOSS
from training.llm.figures import HELD_OUT_LOSS

_NAMES = {
    "train_loss": LOSS,
    "valid_loss": HELD_OUT_LOSS,
    "full_valid_loss": HELD_OUT_LOSS,  # over the whole validation file: comes last and is final
}


class Figure(NamedTuple):
    """The value of a metric at one step, by the name of its curve."""

    step: int
    name: str
    value: float


def step_of(row: Mapping[str, Any]) -> int | None:
    """The step of an event or of a line of the result file; None if it has none."""
    found = _number(row.get("step"))
    return None if found is None else int(found)


def steps_of(row: Mapping[str, Any]) -> int:
    """The number of steps in an event's data; 0 if it is missing."""
    return int(_number(row.get("total_steps")) or 0)


def figures_of(row: Mapping[str, Any]) -> Iterator[Figure]:
    """The losses in an event's data or a line of the result file."""
    step = step_of(row)
    for key, name in _NAMES.items():
        value = _number(row.get(key))
        if step is not None and value is not None:
            yield Figure(step, name, value)


def rows_of_file(content: bytes) -> list[dict[str, Any]]:
    """The lines of a result file: CSV, which OpenAI encodes as base64. Empty for any other file."""
    text = content.decode("utf-8", "replace")
    if not text.startswith("step,"):
        try:
            text = base64.b64decode(content, validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            return []
    return list(csv.DictReader(io.StringIO(text))) if text.startswith("step,") else []


def _number(value: Any) -> float | None:
    """A finite number; None for anything else, including an empty cell."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
