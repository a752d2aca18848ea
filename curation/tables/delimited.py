"""Read CSV and TSV files as they come: the file shows how its writer separated and quoted fields.

pandas, R, polars and spreadsheets write the same table in a dozen ways, and some programs never
quote. A dialect is right if every row has as many fields as the header.
"""

import csv
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple

from curation.formatting import counted
from db.errors import HedgerowError

DELIMITERS = {
    **{",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "space"},
    **{"~": "tilde", "^": "circumflex", "\1": "control character"},
}
"""Field delimiters; spreadsheets differ by country, and R separates quoted fields by spaces."""

MISSING = ("NA", "NULL")
"""What R and databases write for a missing value."""

ROW_NAMES = "row names"
"""The name of R's first column, which has none in the header."""

QUOTES_KEPT = "Quotation marks were read as part of the texts because they do not enclose fields."

_SEP = re.compile(r'"?sep=(.)"?\s*')
_QUOTED = re.compile(r'"(?:[^"]++|"")*+"')
_ALL_QUOTED = re.compile(r'"[^"]*"(?: "[^"]*")+\s*')
_DOUBLED = re.compile(r'[^\s,;|"]""|""[^\s,;|"]')
_ENCLOSED = re.compile(r'(?:^|[\t,;| ])"')
_SINGLE = re.compile(r"(?:^|[\t,;|])'|''")
_SENTENCE = re.compile(r"\S+\s+\S+\s+.*[.!?][\"'”’)]*\s*$", re.DOTALL)
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?")
_NAME_SHOWN, _NAMES_SHOWN = 40, 8

Lines = Callable[[], Iterable[str]]
"""Reads the lines of a file from its beginning."""

Rows = Iterator[tuple[int, list[str]]]
"""The fields of each row, with the number of its first line."""

Names = Callable[[Sequence[str]], Sequence[str] | None]
"""The names of the columns for the first row of a table without a header; None for a header."""


class _Unfit(HedgerowError):
    """A row does not fit, so that this is the wrong dialect or a broken file."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Dialect(NamedTuple):
    """How fields are separated and quoted; ``escape`` precedes a quotation mark inside a field,
    which is otherwise doubled. Without ``quote``, quotation marks are part of the texts."""

    delimiter: str
    quote: str | None = '"'
    escape: str | None = None


class Delimited(NamedTuple):
    """A table whose dialect is known.

    Attributes:
        header: the line of the header, from 1.
        rows: reads the rows below it.
    """

    columns: tuple[str, ...]
    header: int
    rows: Callable[[], Rows]
    notes: tuple[str, ...] = ()


@dataclass
class _Seen:
    """What the lines of a file show about its writer."""

    quotes: bool = False
    enclosed: bool = False
    doubled: bool = False
    single: bool = False
    """A field begins with a single quotation mark, or contains a doubled one."""
    escaped: bool = False
    backslash: bool = False
    loose: bool = False
    """A field contains a quotation mark without being enclosed by them."""
    several_lines: bool = False

    def watch(self, lines: Iterable[str]) -> Iterator[str]:
        """Pass on the lines."""
        for line in lines:
            if '"' in line:
                self.quotes = True
                self.enclosed = self.enclosed or bool(_ENCLOSED.search(line))
                self.doubled = self.doubled or bool(_DOUBLED.search(line))
                self.escaped = self.escaped or '\\"' in line
            self.backslash = self.backslash or "\\" in line
            self.single = self.single or ("'" in line and bool(_SINGLE.search(line)))
            yield line


def read_delimited(
    lines: Lines,
    name: str,
    *,
    delimiter: str | None = None,
    prefer_tabs: bool = False,
    names: Names | None = None,
) -> Delimited:
    """Find the columns and the dialect.

    Args:
        delimiter: by default, the most frequent one in the header.
        prefer_tabs: whether fields are separated by tabs if the header has no delimiter.
        names: for tables that may have no header. In these, further fields of a row are ignored.

    Raises:
        HedgerowError: there is no header, or the first line is none; or a row has another number of
            fields in every dialect.
    """
    before, first = _first_line(lines, 0)
    if (told := _SEP.fullmatch(first)) is not None:
        delimiter = told[1]
        before, first = _first_line(lines, before + 1)
    if not first:
        raise HedgerowError(f"{name} contains only blank lines; choose another file.")
    likely = likely_delimiter(first)
    if prefer_tabs and likely not in first:
        likely = "\t"
    standard = _Dialect(delimiter or likely)
    seen = _Seen()
    found = _tried(lines, before, standard, name, names, seen)
    for dialect in _better(standard, found, seen, quoted_header=first.startswith('"')):
        other = _tried(lines, before, dialect, name, names)
        if isinstance(other, Delimited):
            kept = (QUOTES_KEPT,) if dialect.quote is None and seen.quotes else ()
            return other._replace(notes=kept)
        if isinstance(found, _Unfit) and other.line > found.line:
            found = other  # the right dialect reads furthest
    if isinstance(found, _Unfit):
        raise found
    return found


def _better(
    standard: _Dialect, found: Delimited | _Unfit, seen: _Seen, *, quoted_header: bool
) -> Iterator[_Dialect]:
    """The dialects to try before the standard one, or because that is wrong."""
    columns = () if isinstance(found, _Unfit) else found.columns
    is_wrong = not columns
    if seen.escaped or (is_wrong and seen.backslash):
        yield standard._replace(escape="\\")
    if seen.single:
        yield standard._replace(quote="'")
    # A quotation mark that opens in one row and closes in another belongs to the texts, as does one
    # in a file that does not enclose all fields with quotation marks.
    never_quotes = seen.enclosed and not seen.doubled and not quoted_header
    swallows = never_quotes and (seen.several_lines or seen.loose) and len(columns) > 1
    if swallows or (is_wrong and standard.delimiter == "\t"):
        yield standard._replace(quote=None)


def likely_delimiter(line: str) -> str:
    """The most frequent delimiter in a line, outside of quotation marks."""
    if _ALL_QUOTED.fullmatch(line):
        return " "
    outside = _QUOTED.sub("", line)
    return max([one for one in DELIMITERS if one != " "], key=outside.count)


def _first_line(lines: Lines, start: int) -> tuple[int, str]:
    """The first line that is not blank, and how many lines precede it."""
    numbered = enumerate(islice(lines(), start, None), start)
    return next(((number, line) for number, line in numbered if line.strip()), (start, ""))


def _tried(
    lines: Lines,
    before: int,
    dialect: _Dialect,
    name: str,
    names: Names | None,
    seen: _Seen | None = None,
) -> Delimited | _Unfit:
    """The table in this dialect, or why a row does not fit."""
    seen = seen or _Seen()
    watched = seen.watch(islice(lines(), before, None))
    try:
        columns, rows = _opened(watched, before, dialect, name, names)
        for _, cells in rows:
            if seen.quotes:
                seen.loose = seen.loose or any('"' in cell for cell in cells)
                seen.several_lines = seen.several_lines or any("\n" in cell for cell in cells)
    except _Unfit as error:
        deque(watched, 0)
        return error

    def again() -> Rows:
        return _opened(islice(lines(), before, None), before, dialect, name, names)[1]

    return Delimited(columns, before + 1, again)


def _opened(
    lines: Iterable[str], before: int, dialect: _Dialect, name: str, names: Names | None
) -> tuple[tuple[str, ...], Rows]:
    """The columns and the rows.

    Raises:
        HedgerowError: there is no header. While reading the rows: one does not fit.
    """
    rest = iter(lines)
    start = next(rest, "")
    lines = chain([start], rest)
    if dialect.escape:
        other = re.compile(rf"\\(?![\\{dialect.quote}{re.escape(dialect.delimiter)}])")
        lines = (other.sub(r"\\\\", line) if "\\" in line else line for line in lines)
    reader = csv.reader(
        lines,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        escapechar=dialect.escape,
        doublequote=dialect.escape is None,
        strict=True,
    )
    try:
        header = [cell.strip() for cell in next(reader)]
    except csv.Error as error:
        raise _broken(before + 1, name, error) from None
    if names is not None and (known := names(header)) is not None:
        return tuple(known), _rows(reader, header, before + 1, before, known, dialect, name, True)
    begin, first = before + reader.line_num + 1, _next(reader, before, name)
    while first == []:  # a blank line
        begin, first = before + reader.line_num + 1, _next(reader, before, name)
    if (
        first is not None
        and len(first) == len(header) + 1
        and (start[:1] == '"' or (dialect.delimiter, first[0]) == ("\t", "1"))
    ):
        header = [ROW_NAMES, *header]
    columns = tuple(cell or f"column {number}" for number, cell in enumerate(header, 1))
    _check_header(columns, f"line {before + 1:,} of {name}")
    is_loose = names is not None
    return columns, _rows(reader, first, begin, before, columns, dialect, name, is_loose)


def _next(reader: Any, before: int, name: str) -> list[str] | None:
    begin = before + reader.line_num + 1
    try:
        return next(reader, None)
    except csv.Error as error:
        raise _broken(begin, name, error) from None


def _rows(
    reader: Any,
    row: list[str] | None,
    begin: int,
    before: int,
    columns: Sequence[str],
    dialect: _Dialect,
    name: str,
    is_loose: bool,
) -> Rows:
    while row is not None:
        more = row[len(columns) :]
        if len(row) >= len(columns) and (is_loose or not any(more)):
            yield begin, ["" if cell in MISSING else cell for cell in row[: len(columns)]]
        elif row:
            raise _wrong_number(row, columns, begin, dialect, name)
        begin, row = before + reader.line_num + 1, _next(reader, before, name)


def _wrong_number(
    row: list[str], columns: Sequence[str], line: int, dialect: _Dialect, name: str
) -> _Unfit:
    found = (
        f"Expected {counted(len(columns), 'field')}, found {len(row):,} on line {line:,} of {name}"
    )
    delimiter = DELIMITERS.get(dialect.delimiter, f"'{dialect.delimiter}'")
    if len(row) < len(columns):
        missing = f"{listed(columns[len(row) :])} is missing"
        sentence = f"{found}: {missing}; add it, with a {delimiter} even if it is empty."
    else:
        sentence = f"{found}; put texts that contain a {delimiter} into quotation marks" + (
            ", or remove what precedes the header." if len(columns) == 1 else "."
        )
    return _Unfit(sentence, line)


def _broken(line: int, name: str, error: csv.Error) -> _Unfit:
    where = f"The row that begins on line {line:,} of {name} has a"
    if "limit" in str(error):
        return _Unfit(
            f"{where} field of more than {csv.field_size_limit():,} characters; close its "
            "quotation marks, or shorten it.",
            line,
        )
    return _Unfit(
        f"{where} quotation mark that does not enclose a whole field; close it, and double the "
        "quotation marks inside.",
        line,
    )


def _check_header(columns: Sequence[str], where: str) -> None:
    """Refuse a first line that is a row instead of a header. pandas numbers nameless columns."""
    if list(columns) == [str(number) for number in range(len(columns))]:
        return
    for cell in columns:
        if _SENTENCE.match(cell) or _NUMBER.fullmatch(cell):
            kind = "the number" if _NUMBER.fullmatch(cell) else "the sentence"
            names = ", ".join(f"column_{number}" for number in range(1, len(columns)))
            raise HedgerowError(
                f"Expected column names on {where}, found {kind} {quoted(cell)}; add a header "
                + (
                    f"such as '{names}, text'."
                    if names
                    else "such as 'text', or read it as plain text."
                )
            )


def quoted(name: str) -> str:
    """The shortened name of a column on one line, for messages."""
    name = " ".join(name.split())
    return f"'{name}'" if len(name) <= _NAME_SHOWN else f"'{name[:_NAME_SHOWN]}…'"


def listed(names: Sequence[str]) -> str:
    """The first few column names, for messages."""
    first = ", ".join(quoted(name) for name in names[:_NAMES_SHOWN])
    return first + (f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else "")


def not_used(names: Sequence[str]) -> list[str]:
    """Name the columns that are not used, if any."""
    return [f"Not used: {listed(names)}."] * bool(names)
