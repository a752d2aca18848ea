"""CSV and TSV files of anchors, read by the standard library's ``csv`` in strict mode."""

import csv
import io
import re
from typing import Literal, NamedTuple

from curation.anchors.importing.file_table import (
    GENRE_NAMES,
    SENTENCE_NAMES,
    FileTable,
    Format,
    check_columns,
    check_rows,
    listed,
    quoted,
)
from curation.plurals import counted
from curation.release.export.file_formats import original
from curation.release.export.table_rows import TABLES
from db.errors import HedgerowError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
"""Field delimiters of CSV files; spreadsheets differ by country."""

_RECORD_INSPECTED = 4 * 1024 * 1024
"""Number of characters of a record to search for the unclosed quotation mark."""

_QUOTED = re.compile(r'"(?:[^"]++|"")*+"')
_SENTENCE = re.compile(r"\S+\s+\S+\s+.*[.!?][\"'”’)]*\s*$", re.DOTALL)
_OUR_PAIRS = tuple(column.name for column in TABLES["pairs"])
_AS_WRITTEN = "Removed the apostrophes that the export had put before formulas."
_QUOTES_KEPT = "Quotation marks were read as part of the texts because they do not enclose fields."


class _Rows(NamedTuple):
    header: list[str]
    header_line: int
    rows: list[list[str]]
    lines: list[int]


def read_csv(text: str, *, name: str) -> FileTable:
    """The table of a CSV file with a header; the delimiter is the most frequent one in the header.

    Texts of Hedgerow's own pairs export are restored to their form before the export.

    Raises:
        HedgerowError: no header, no rows, broken quoting, a row with too few or too many fields.
    """
    found = _rows(text, delimiter=csv_delimiter(text), name=name)
    if tuple(found.header) == _OUR_PAIRS:
        whole = [[original(cell) for cell in row] for row in found.rows]
        return _table(found._replace(rows=whole), name=name, kind=Format.CSV, notes=(_AS_WRITTEN,))
    return _table(found, name=name, kind=Format.CSV)


def read_tsv(text: str, *, name: str) -> FileTable:
    """The table of a TSV file with a header.

    Some programs quote fields and others never do. If quotation marks do not enclose whole fields
    but every line has the right number of tabs, they are part of the texts.

    Raises:
        HedgerowError: as ``read_csv``.
    """
    notes: tuple[str, ...] = ()
    try:
        found = _rows(text, delimiter="\t", name=name)
    except HedgerowError as broken:
        try:
            found = _rows(text, delimiter="\t", name=name, quoting=csv.QUOTE_NONE)
        except HedgerowError:
            raise broken from None
        notes = (_QUOTES_KEPT,)
    return _table(found, name=name, kind=Format.TSV, notes=notes)


def csv_delimiter(text: str) -> str:
    """The most frequent delimiter in the first line, outside quotation marks."""
    first = _QUOTED.sub("", first_line(text))
    return max(DELIMITERS, key=first.count)


def first_line(text: str) -> str:
    """The first line that is not blank."""
    return next((line for line in io.StringIO(text[: 1 << 20]) if line.strip()), "")


def looks_delimited(text: str, delimiter: str) -> bool:
    """Whether the first line is a header with this delimiter and a sentence column."""
    names = [name.strip(' "').casefold() for name in first_line(text).rstrip().split(delimiter)]
    return len(names) > 1 and not {*SENTENCE_NAMES, *GENRE_NAMES}.isdisjoint(names)


def _rows(
    text: str, *, delimiter: str, name: str, quoting: Literal[0, 3] = csv.QUOTE_MINIMAL
) -> _Rows:
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, strict=True, quoting=quoting
    )
    begin, rows, lines = 1, [], []
    try:
        for header in reader:
            if any(header):
                break
            begin = reader.line_num + 1
        else:
            raise HedgerowError(
                f"Expected a header and rows in {name}, found an empty file; choose another one."
            )
        header_line, begin = begin, reader.line_num + 1
        for row in reader:
            if len(row) == len(header):
                rows.append(row)
                lines.append(begin)
            elif row:
                raise HedgerowError(_wrong_number(row, header, begin, delimiter, name))
            begin = reader.line_num + 1
    except csv.Error as error:
        raise HedgerowError(_broken(text, begin, delimiter, name, str(error))) from None
    return _Rows([cell.strip() for cell in header], header_line, rows, lines)


def _wrong_number(row: list[str], header: list[str], line: int, delimiter: str, name: str) -> str:
    return (
        f"Expected {counted(len(header), 'field')} as in the header, found {len(row):,} on line "
        f"{line:,} of {name}; put texts that contain a {DELIMITERS[delimiter]} into quotation "
        "marks."
    )


def _broken(text: str, begin: int, delimiter: str, name: str, reason: str) -> str:
    """Why the record that begins on this line cannot be read."""
    stream = io.StringIO(text, newline="")
    for _ in range(begin - 1):
        stream.readline()
    record = stream.read(_RECORD_INSPECTED)
    position = _unreadable_field(record, delimiter)
    line = begin + len(io.StringIO(record[:position] + "x", newline="").readlines()) - 1
    if "limit" in reason and record[position : position + 1] != '"':
        return (
            f"Line {line:,} of {name} has a field of more than {csv.field_size_limit():,} "
            "characters; put one anchor in each row."
        )
    return (
        f"The quotation mark opened on line {line:,} of {name} is not closed before the next "
        f"{DELIMITERS[delimiter]} or line end; close it, and double the quotation marks inside."
    )


def _unreadable_field(record: str, delimiter: str) -> int:
    """Start of the field in the record that is not followed by a delimiter."""
    other = f"[^{re.escape(delimiter)}\\r\\n]"
    field = re.compile(rf'(?:"(?:[^"]++|"")*+"|(?!"){other}++)?+{re.escape(delimiter)}')
    position = 0
    while match := field.match(record, position):
        position = match.end()
    return position


def _table(found: _Rows, *, name: str, kind: Format, notes: tuple[str, ...] = ()) -> FileTable:
    names = [cell or f"column {number}" for number, cell in enumerate(found.header, 1)]
    where = f"line {found.header_line:,} of {name}"
    _check_header(names, where)
    check_columns(names, where=where)
    check_rows(len(found.rows), name=name)
    if not found.rows:
        raise HedgerowError(
            f"Expected rows below the header of {name}, found only the header {listed(names)}; "
            "choose a file with one anchor per row."
        )
    cells = dict(zip(names, zip(*found.rows, strict=True), strict=True))
    return FileTable(name, kind, tuple(names), found.lines, cells, notes=notes)


def _check_header(names: list[str], where: str) -> None:
    """Refuse a first line that is a sentence instead of a header."""
    for name in names:
        if _SENTENCE.match(name):
            raise HedgerowError(
                f"Expected column names on {where}, found the sentence {quoted(name)}; add a "
                "header such as 'text', or read the file as plain text."
            )
