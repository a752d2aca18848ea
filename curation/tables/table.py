"""A table, read row by row, with only the current row in memory.

The content decides how a file is read, not its name; only between a table and plain text does the
extension count, if nothing else shows it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from io import BytesIO
from itertools import chain, islice
from pathlib import PurePath
from typing import Any, NamedTuple

from curation.tables import annotation_tools, json_values, parquet, plain
from curation.tables.annotation_tools import ANNOTATOR
from curation.tables.delimited import Names, listed, quoted, read_delimited
from curation.tables.files import PARQUET, Part, Parts, check_kind, lines, parts_of_upload, pieces
from curation.tables.safe_csv import original
from db.errors import HedgerowError

MAX_COLUMNS = 500
MAX_ROWS = 2_000_000

INSPECTED = 500
"""Number of nested records from which the columns are determined."""

PASTED = "the pasted text"

AS_WRITTEN = "Removed the apostrophes that the export had put before formulas."

_OURS = {"anchor_uid", "variant_uid"}
"""Columns of Hedgerow's own export of pairs as CSV."""

_HEAD = 64 * 1024
_JSON = re.compile(rb"\{\s*[\"'}]|\[\s*[\[{\"\]]")
"""The beginning of a list or object; a text may begin with '[1]'."""

_UNSEEN = b"\xef\xbb\xbf\xff\xfe \t\r\n"
"""Byte-order marks and white space."""

Cells = dict[str, Any]
"""Column → value; missing values are None or have no entry."""


class Format(StrEnum):
    """File formats."""

    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    TEXT = "text"


ENDINGS = {
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
}
"""Extensions of files that are tables even if their headers name nothing we know."""


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


class Table(NamedTuple):
    """A table with known columns.

    Attributes:
        tool: the annotation tool that wrote it; '' if none shows.
        unit: what the numbers of rows count.
        columns: all columns, in the file's order.
        rows: reads all rows from the beginning.
        content_hash: SHA-256 over the bytes of its files.
        notes: what users should know about how it was read, one sentence each.
    """

    name: str
    format: Format
    tool: str
    unit: str
    columns: tuple[str, ...]
    rows: Callable[[], Iterator[Row]]
    content_hash: str = ""
    notes: tuple[str, ...] = ()


class _Form(NamedTuple):
    """The records of one file, and how to read them again."""

    format: Format
    unit: str
    columns: tuple[str, ...] | None
    records: Callable[[], Iterator[tuple[int, Cells]]]
    notes: tuple[str, ...] = ()


def open_table(
    parts: Parts,
    *,
    format: Format | None = None,
    is_prose: bool | None = None,
    names: Names | None = None,
) -> Table:
    """The columns and rows of a table.

    Args:
        format: the format of its files, whatever their content; by default it is detected.
        is_prose: whether a text that shows no columns has a sentence on each line, rather than a
            header that we do not know; by default, its name decides.
        names: for tables that may have no header (see ``read_delimited``).

    Raises:
        HedgerowError: it is not text, is broken, has no rows, or its files have different columns.
    """
    tables = [_of_part(part, format, is_prose, names) for part in parts.files]
    first, columns = tables[0], dict.fromkeys(tables[0].columns)
    for table in tables[1:]:
        if table.format is not Format.JSONL and table.columns != first.columns:
            raise HedgerowError(
                f"Expected the same columns in {table.name} as in {first.name}; import the two one "
                "after another."
            )
        columns |= dict.fromkeys(table.columns)
    owners = _owners(parts) if first.tool in annotation_tools.BY_ANNOTATOR else {}
    if any(owners.values()):
        columns[ANNOTATOR] = None
    check_columns(list(columns), where=parts.name)

    def rows() -> Iterator[Row]:
        every = chain.from_iterable(table.rows() for table in tables)
        for count, row in enumerate(every, 1):
            if count > MAX_ROWS:
                raise HedgerowError(
                    f"Expected at most {MAX_ROWS:,} rows, found more in {parts.name}; split it and "
                    "import the parts one after another."
                )
            if annotator := owners.get(row.part):
                row.cells[ANNOTATOR] = row.cells.get(ANNOTATOR) or annotator
            yield row

    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return first._replace(
        name=parts.name,
        columns=tuple(columns),
        rows=rows,
        content_hash=parts.content_hash,
        notes=notes,
    )


def open_bytes(
    data: bytes,
    name: str,
    *,
    format: Format | None = None,
    is_prose: bool | None = None,
    names: Names | None = None,
) -> Table:
    """The table in an upload or another file in memory, as in ``open_table``."""
    return open_table(parts_of_upload(data, name), format=format, is_prose=is_prose, names=names)


def open_pasted(text: str, *, format: Format | None = None) -> Table:
    """The table in a pasted text: one sentence per line, or rows with a header as in a file.

    Raises:
        HedgerowError: as in ``open_table``.
    """
    if not text.strip():
        raise HedgerowError("The pasted text is empty; paste one anchor per line.")
    data = text.encode("utf-8", "surrogatepass")
    part = Part(PASTED, lambda: BytesIO(data))
    return open_table(Parts(PASTED, [part], hashlib.sha256(data).hexdigest()), format=format)


def check_columns(names: Sequence[str], *, where: str) -> None:
    """Refuse a header with a repeated name or too many columns.

    Raises:
        HedgerowError: as above; ``where`` is the name of the header in the message.
    """
    if len(names) > MAX_COLUMNS:
        raise HedgerowError(
            f"Expected at most {MAX_COLUMNS} columns, found {len(names):,} in {where}; remove "
            "columns that you do not need."
        )
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise HedgerowError(
                f"Expected a different name for every column, found {quoted(name)} twice in "
                f"{where}; rename one."
            )
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise HedgerowError(
                f"Expected column names in plain text, found half a surrogate pair in {where}; "
                "rename that column."
            )
        seen.add(name)


def _owners(parts: Parts) -> dict[str, str]:
    """The annotator of each of several files, which its own name or that of its folder shows."""
    paths = [PurePath(part.name) for part in parts.files]
    is_by_file = len({path.stem for path in paths}) == len(paths) > 1
    return {str(path): path.stem if is_by_file else path.parent.name for path in paths}


def _of_part(
    part: Part, format: Format | None, is_prose: bool | None, names: Names | None
) -> Table:
    """One file as a table; for records, with the columns of the first ones."""
    form = _form(part, format, is_prose, names)
    head = [cells for _, cells in islice(form.records(), INSPECTED)]
    if not head:
        raise HedgerowError(
            f"{part.name} contains only blank lines; choose another file."
            if form.format is Format.TEXT or not form.columns
            else f"{part.name} has no rows below the header {listed(form.columns)}; choose another "
            "file."
        )
    tool, columns = annotation_tools.tool_of(head), form.columns
    if tool.name or columns is None:
        flat = chain.from_iterable(map(tool.rows, head))
        columns = tuple(dict.fromkeys(str(key) for cells in flat for key in cells))

    def rows() -> Iterator[Row]:
        for number, record in form.records():
            for cells in tool.rows(record):
                yield Row(part.name, form.unit, number, cells)

    return Table(part.name, form.format, tool.name, form.unit, columns, rows, "", form.notes)


def _form(part: Part, format: Format | None, is_prose: bool | None, names: Names | None) -> _Form:
    with part.open() as file:
        head = file.read(_HEAD)
        check_kind(head, part.name)
        if head.startswith(PARQUET):
            columns, rows = parquet.read(file, part.name)
            check_columns(columns, where=part.name)
            return _Form(
                Format.PARQUET, "row", columns, lambda: _named(enumerate(rows(), 1), columns)
            )
    if format is Format.PARQUET:
        raise HedgerowError(
            f"Expected a Parquet file, but {part.name} has another format; correct its extension, "
            "or choose another format."
        )
    begin, ending = head.lstrip(_UNSEEN), PurePath(part.name).suffix.lower()
    if begin != head:  # it may be UTF-16
        begin = begin.replace(b"\0", b"")
    is_json = bool(_JSON.match(begin)) or (begin[:1] == b'"' and "json" in ending)
    if format is Format.JSONL or (format is None and is_json):
        with part.open() as file:
            unit, _ = json_values.records(pieces(file, part.name), part.name)

        def records() -> Iterator[tuple[int, Cells]]:
            with part.open() as file:
                yield from json_values.records(pieces(file, part.name), part.name)[1]

        return _Form(Format.JSONL, unit, None, records)
    return _text_form(part, format, is_prose, names)


def _text_form(
    part: Part, format: Format | None, is_prose: bool | None, names: Names | None
) -> _Form:
    def text() -> Iterator[str]:
        with part.open() as file:
            yield from lines(file, part.name)

    wanted = format or ENDINGS.get(PurePath(part.name).suffix.lower())
    found = plain.contents(text(), part.name) if format is None else plain.TEXT
    read = {
        plain.LABELLED: plain.labelled,
        plain.MARKED_UP: plain.marked_up,
        plain.TEXT: plain.sentences,
        plain.LISTED: plain.listed,
    }.get(found)
    if found in (plain.TEXT, plain.LISTED) and (is_prose is False or wanted in ENDINGS.values()):
        read = None
    if read is not None:
        columns = ("label", "text") if found == plain.LABELLED else ("text",)
        note = {plain.MARKED_UP: plain.WORDS_NOT_USED, plain.LISTED: plain.MARKERS_REMOVED}
        notes = (note[found],) if found in note else ()
        return _Form(Format.TEXT, "line", columns, lambda: read(text()), notes)
    is_tsv = Format.TSV in (format, wanted) or found == "\t"
    delimiter = "\t" if format is Format.TSV else None
    table = read_delimited(text, part.name, delimiter=delimiter, prefer_tabs=is_tsv, names=names)
    check_columns(table.columns, where=f"line {table.header:,} of {part.name}")
    kind = wanted or (Format.TSV if found == "\t" else Format.CSV)
    is_ours = set(table.columns) >= _OURS
    written = original if is_ours else _value
    return _Form(
        *(kind, "line", table.columns),
        lambda: _named(table.rows(), table.columns, written),
        table.notes + (AS_WRITTEN,) * is_ours,
    )


def _value(cell: Any) -> Any:
    """A cell; the list or object that programs write into one, if there is one."""
    is_nested = isinstance(cell, str) and cell[:2] in ('["', "['", "[{", '{"', "{'")
    return json_values.unpacked(cell) if is_nested else cell


def _named(
    rows: Iterator[tuple[int, list[Any]]],
    columns: tuple[str, ...],
    value: Callable[[Any], Any] = _value,
) -> Iterator[tuple[int, Cells]]:
    for number, cells in rows:
        yield number, dict(zip(columns, map(value, cells), strict=True))
