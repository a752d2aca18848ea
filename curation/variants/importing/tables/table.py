"""A table of variants, read row by row, with only the current row in memory.

The nested records of other programs (tasks with annotations, records with responses) become flat
rows (see ``annotations``).
"""

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, BinaryIO, NamedTuple

from curation.anchors.importing.decoding import PARQUET
from curation.anchors.importing.file_table import check_columns
from curation.variants.importing.tables import annotations, delimited, json_records, parquet
from curation.variants.importing.tables.parts import Part, Parts
from db.errors import HedgerowError

MAX_ROWS = 2_000_000

INSPECTED = 500
"""Number of nested records from which the columns are determined."""

Cells = dict[str, Any]
"""Column → value; missing values have no entry."""


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        part: the name of its file.
        unit: what ``number`` counts: lines, rows or records.
        number: its position in that file, from 1.
    """

    part: str
    unit: str
    number: int
    cells: Cells

    @property
    def place(self) -> str:
        """Its position, for a message."""
        return f"{self.unit} {self.number:,} of {self.part}"


class Opened(NamedTuple):
    """A file with a known format: its columns, if the file names them, and its records."""

    columns: tuple[str, ...] | None
    unit: str
    records: Iterator[tuple[int, Cells]]


class Table(NamedTuple):
    """A table with known columns.

    Attributes:
        kind: 'table', or the program that nested its records.
        rows: reads all rows from the beginning.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    rows: Callable[[], Iterator[Row]]


def open_table(parts: Parts) -> Table:
    """Return the columns and rows of a table.

    Raises:
        HedgerowError: it is not text, is broken at the beginning, or its files have different
            columns.
    """
    first: Table | None = None
    for part in parts.files:
        table = _of_part(part)
        if first is None:
            first = table
        elif set(table.columns) != set(first.columns):
            raise HedgerowError(
                f"Expected the same columns in {part.name} as in {parts.files[0].name}; import the "
                "two one after another."
            )
    assert first is not None  # there is always at least one part
    check_columns(first.columns, where=parts.name)
    return Table(parts.name, first.kind, first.columns, lambda: _rows(parts))


def _rows(parts: Parts) -> Iterator[Row]:
    count = 0
    for part in parts.files:
        for row in _of_part(part).rows():
            count += 1
            if count > MAX_ROWS:
                raise HedgerowError(
                    f"Expected at most {MAX_ROWS:,} rows, found more in {parts.name}; split it and "
                    "import the parts one after another."
                )
            yield row


def _of_part(part: Part) -> Table:
    """Open one file as a table; for nested records, with the columns of the first ones."""
    with part.open() as file:
        opened = _opened(file, part.name)
        head = list(islice(opened.records, INSPECTED))
    if not head:
        raise HedgerowError(f"{part.name} has no rows; choose a file with one variant per row.")
    shape = annotations.shape_of([cells for _, cells in head])
    flat = [cells for _, nested in head for cells in shape.rows(nested)]
    columns = opened.columns if shape.flat and opened.columns else _columns_of(flat)
    return Table(part.name, shape.name, columns, lambda: _of_file(part, shape))


def _columns_of(rows: list[Cells]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(rows)))


def _of_file(part: Part, shape: annotations.Shape) -> Iterator[Row]:
    with part.open() as file:
        opened = _opened(file, part.name)
        for number, nested in opened.records:
            if shape.flat:
                yield Row(part.name, opened.unit, number, nested)
                continue
            for cells in shape.rows(nested):
                yield Row(part.name, opened.unit, number, cells)


def _opened(file: BinaryIO, name: str) -> Opened:
    head = file.read(len(PARQUET))
    file.seek(0)
    if head == PARQUET:
        columns, records = parquet.read(file, name)
        return Opened(columns, "row", records)
    if json_records.first_character(file) in (b"{", b"["):
        unit, records = json_records.read(file, name)
        return Opened(None, unit, records)
    columns, records = delimited.read(file, name)
    return Opened(columns, "line", records)
