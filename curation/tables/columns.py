"""A table in memory, by column, and the likely meaning of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from curation.tables.delimited import listed, quoted
from curation.tables.json_values import cell_text, kind_of
from curation.tables.plain import SENTENCE_NAMES
from curation.tables.table import Format, Table, check_columns
from db.errors import HedgerowError

MAX_ROWS = 500_000


@dataclass(frozen=True, eq=False)
class FileTable:
    """The unchecked rows of a file.

    Attributes:
        name: name of the file in messages.
        tool: the annotation tool that wrote it; '' if none shows.
        unit: what ``lines`` counts: lines, rows or records.
        columns: all columns, in the file's order.
        lines: the place of each row, from 1; no two are the same.
        content_hash: SHA-256 of the bytes.
        cells: column → its values, one per row, for columns that contain only texts and missing
            values (None).
        values: column → its values of any kind, for all columns.
        refused: column → one sentence on why it has no sentences, for the other columns.
        notes: what users should know about how the file was read, one sentence each.
    """

    name: str
    format: Format
    tool: str
    unit: str
    columns: tuple[str, ...]
    lines: Sequence[int]
    cells: Mapping[str, Sequence[str | None]]
    values: Mapping[str, Sequence[Any]]
    content_hash: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns that can contain sentences or genres."""
        return tuple(column for column in self.columns if column in self.cells)

    def texts(self, column: str) -> Sequence[str | None]:
        """The values of a column, one per row; None if missing.

        Raises:
            HedgerowError: there is no such column, or it contains values other than strings.
        """
        if column in self.cells:
            return self.cells[column]
        if column in self.refused:
            raise HedgerowError(self.refused[column])
        raise HedgerowError(
            f"Expected a column {quoted(column)} in {self.name}, found {listed(self.columns)}; "
            "choose one of these."
        )

    def sentence_column(self) -> str | None:
        """The sentence column, if its name shows it or it is the only column.

        A column with such a name is returned even if it contains other values than strings, so that
        ``texts`` reports the problem and no other column is used silently.
        """
        only = self.columns[0] if len(self.columns) == 1 else None
        names = (self.text_columns, self.columns)
        return next(filter(None, (named(one, SENTENCE_NAMES) for one in names)), only)

    def as_texts(self, column: str) -> list[str]:
        """The values of a column of any kind as texts, one per row; '' if missing.

        Raises:
            HedgerowError: there is no such column.
        """
        return [cell_text(value) for value in self.values.get(column) or self.texts(column)]


def named(columns: Sequence[str], names: Iterable[str]) -> str | None:
    """The first of these names that is a column; case and a number sign do not matter."""
    known = {column.casefold().strip(" #"): column for column in reversed(columns)}
    return next((known[name] for name in names if name in known), None)


def in_memory(table: Table) -> FileTable:
    """All rows of a table.

    Raises:
        HedgerowError: a row is broken, there are more than ``MAX_ROWS``, or no column has texts.
    """
    lines: list[int] = []
    values: dict[str, list[Any]] = {column: [] for column in table.columns}
    for row in table.rows():
        if new := [column for column in row.cells if column not in values]:
            values |= {column: [None] * len(lines) for column in new}
            check_columns(list(values), where=table.name)
        lines.append(row.number)
        if len(lines) > MAX_ROWS:
            raise HedgerowError(
                f"Expected at most {MAX_ROWS:,} rows, found more in {table.name}; split it and add "
                "the parts one after another."
            )
        for column, cells in values.items():
            value = row.cells.get(column)
            cells.append(value[0] if isinstance(value, list) and len(value) == 1 else value)
    if any(one >= following for one, following in pairwise(lines)):
        table = table._replace(unit="row")  # several files, or several answers to a record
        lines = list(range(1, len(lines) + 1))
    refused = {
        column: why
        for column, cells in values.items()
        if (why := _no_texts(column, cells, lines, table))
    }
    texts = {column: cells for column, cells in values.items() if column not in refused}
    if not texts:
        raise HedgerowError(
            next(iter(refused.values()))
            if len(refused) == 1
            else f"Expected a column of strings in {table.name}, found none in "
            f"{listed(table.columns)}; choose a file with one anchor per row."
        )
    nested = [name for name in refused if any(isinstance(v, list | dict) for v in values[name])]
    notes = table.notes + (
        (f"Not used because they contain lists: {listed(nested)}.",) * bool(nested)
    )
    return FileTable(
        table.name,
        table.format,
        table.tool,
        table.unit,
        tuple(values),
        lines,
        texts,
        values,
        table.content_hash,
        refused,
        notes,
    )


def _no_texts(column: str, cells: list[Any], lines: list[int], table: Table) -> str:
    """Why a column has no sentences, if so."""
    for value, line in zip(cells, lines, strict=True):
        if not (value is None or type(value) is str):
            return (
                f"Expected a string in {quoted(column)}, found {kind_of(value)} on {table.unit} "
                f"{line:,} of {table.name}; choose a column of strings."
            )
    return ""
