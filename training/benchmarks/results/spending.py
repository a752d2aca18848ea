"""Optional columns of the table: a model's architecture, and its time and cost per item."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from training.benchmarks.results.paper_tables import Line, PerItem
from training.benchmarks.results.queries import Scored

KIND, SECONDS, COST = DETAILS = ("Kind", "Seconds per item", "US dollars per item")
"""Titles of these columns."""

NOTHING = "–"


def spent_on(row: Scored) -> PerItem | None:
    """Time and cost per item of a result; None for mteb tasks, which do not count items."""
    if not row.n:
        return None
    seconds = row.summary.get("seconds", row.summary.get("took", {}).get("seconds"))
    cost = row.summary.get("cost")
    return PerItem(*(None if value is None else value / row.n for value in (seconds, cost)))


def per_item(line: Line, columns: Iterable[str]) -> PerItem:
    """Time and cost per item of a model: the mean over these columns."""
    found = [line.spent[key] for key in columns if key in line.spent]
    return PerItem(_mean([one.seconds for one in found]), _mean([one.cost for one in found]))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def details(line: Line, names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The cells of a line in these columns, as displayed.

    Args:
        names: a selection of `DETAILS`.
        columns: the keys of the columns with scores.
    """
    spent = per_item(line, columns)
    cells = {KIND: line.kind or NOTHING, SECONDS: shown(spent.seconds), COST: shown(spent.cost)}
    return [cells[name] for name in names]


def shown(value: float | None) -> str:
    """A number with at least two significant digits, such as 12.3, 0.45 and 0.00012."""
    if value is None:
        return NOTHING
    if value <= 0:
        return "0"
    decimals = 1 - math.floor(math.log10(value))
    return f"{value:,.{min(max(decimals, 1), 9)}f}"
