"""The table of scores as a file: one row per score, with all its details."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from training.benchmarks.results.paper_tables import Line, PerItem, cells
from training.benchmarks.results.score_table import ScoreColumn

NOTHING_SPENT = PerItem(None, None)

HEAD = [
    "model",
    "source",
    "benchmark",
    "data",
    "items",
    "metric",
    "score",
    "low",
    "high",
    "place",
    "base",
    "difference to base",
    "kind",
    "seconds per item",
    "US dollars per item",
    "full name",
]


def as_table(
    lines: Sequence[Line], columns: Sequence[ScoreColumn]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The header and rows. Scores, intervals and differences are points with two decimals.

    A published score has its paper's data, whatever the data of the column.
    """
    by_key = {column.key: column for column in columns}
    found = []
    for line, row in zip(lines, cells(lines, list(by_key)), strict=True):
        for key, cell in row.items():
            column = by_key[key]
            where, items = (line.source, "") if line.published else (column.data, column.n or "")
            spent = line.spent.get(key, NOTHING_SPENT)
            low, high = (cell.interval.low, cell.interval.high) if cell.interval else (None, None)
            found.append(
                (
                    line.model,
                    "published" if line.published else "measured",
                    column.title,
                    where,
                    items,
                    column.metric,
                    _rounded(cell.score),
                    _rounded(low),
                    _rounded(high),
                    cell.place,
                    line.base,
                    _rounded(cell.delta),
                    line.kind,
                    "" if spent.seconds is None else spent.seconds,
                    "" if spent.cost is None else spent.cost,
                    line.name,
                )
            )
    return list(HEAD), found


def _rounded(value: float | None) -> float | str:
    return "" if value is None else round(value, 2)


def titles(columns: Sequence[ScoreColumn]) -> Mapping[str, str]:
    """The titles of the columns, by key, with the data if a benchmark has several data sets."""
    counts = Counter(column.title for column in columns)
    return {
        column.key: f"{column.title} ({column.data}, {column.n:,})"
        if counts[column.title] > 1
        else column.title
        for column in columns
    }
