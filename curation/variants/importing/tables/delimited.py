"""Reads the rows of CSV and TSV files one by one."""

import csv
from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO

from curation.anchors.importing.delimited import DELIMITERS, csv_delimiter
from curation.anchors.importing.file_table import listed
from curation.plurals import counted
from curation.release.export.file_formats import original
from curation.release.export.table_rows import TABLES
from curation.variants.importing.tables.text_lines import text_lines
from db.errors import HedgerowError

_OUR_PAIRS = tuple(column.name for column in TABLES["pairs"])


def read(file: BinaryIO, name: str) -> tuple[tuple[str, ...], Iterator[tuple[int, dict[str, Any]]]]:
    """Return the columns, and each row with the number of its first line.

    The delimiter is the most frequent one in the header. Texts from Hedgerow's own pairs export are
    restored to their form before the export.

    Raises:
        HedgerowError: there is no header, or it has no second column.
    """
    lines = text_lines(file, name)
    header_line, first = next(
        ((number, line) for number, line in enumerate(lines, 1) if line.strip()), (0, "")
    )
    if not first:
        raise HedgerowError(f"{name} contains only blank lines; choose another file.")
    delimiter = csv_delimiter(first)
    reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    try:
        header = tuple(cell.strip() for cell in next(reader))
    except csv.Error as error:
        raise HedgerowError(_broken(header_line, name, error)) from None
    columns = tuple(cell or f"column {number}" for number, cell in enumerate(header, 1))
    if len(columns) < 2:
        raise HedgerowError(
            "Expected a header with an anchor column and a variant column on line "
            f"{header_line:,} of {name}, found only {listed(columns)}; separate columns with "
            "commas, semicolons, tabs or vertical bars."
        )
    rows = _rows(reader, columns, before=header_line - 1, delimiter=delimiter, name=name)
    return columns, rows


def _rows(
    reader: Any, columns: tuple[str, ...], *, before: int, delimiter: str, name: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    ours = columns == _OUR_PAIRS
    begin = before + reader.line_num + 1
    try:
        for cells in reader:
            if len(cells) == len(columns):
                values = map(original, cells) if ours else cells
                yield begin, dict(zip(columns, values, strict=True))
            elif cells:
                raise HedgerowError(
                    f"Expected {counted(len(columns), 'field')} as in the header, found "
                    f"{len(cells):,} on line {begin:,} of {name}; put texts that contain a "
                    f"{DELIMITERS[delimiter]} into quotation marks."
                )
            begin = before + reader.line_num + 1
    except csv.Error as error:
        raise HedgerowError(_broken(begin, name, error)) from None


def _broken(line: int, name: str, error: csv.Error) -> str:
    if "limit" in str(error):
        return (
            f"The row that begins on line {line:,} of {name} has a field of more than "
            f"{csv.field_size_limit():,} characters; close its quotation marks, or shorten it."
        )
    return (
        f"The row that begins on line {line:,} of {name} has a quotation mark that does not "
        "enclose a whole field; close it, and double the quotation marks inside."
    )
