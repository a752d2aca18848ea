"""Tables for people."""

from collections.abc import Iterable
from typing import Literal

from rich.table import Table

from db.models import Status
from hedgerow.runs.progress import text_of

NUMBERS = frozenset(
    {
        "run",
        "release",
        "loaded",
        "of",
        "variants",
        "rows",
        "line",
        "row",
        "before",
        "after",
        "measured on",
        *Status,
    }
)
"""Titles of columns with numbers."""


def table_of(*titles: str, rows: Iterable[Iterable[object]]) -> Table:
    """A table for people; each row has one cell per title."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        justify: Literal["left", "right"] = "right" if title in NUMBERS else "left"
        table.add_column(text_of(title), overflow="fold", justify=justify)
    for row in rows:
        table.add_row(*(text_of(str(cell)) for cell in row))
    return table
