"""Reading probes and sentences from files and pasted text."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from curation.content_uids import canonical
from curation.review.deciding import MAX_TEXT
from curation.tables.delimited import listed
from curation.tables.table import Format, Table, open_bytes
from db.errors import HedgerowError
from db.named_files import read_bytes
from training.evaluation.similarity import ROLES, ProbePair

MAX_LABEL = 80
"""Maximum number of characters of a label in the database."""

LARGEST_FILE = 64 * 1024 * 1024
"""Maximum size of a file in bytes."""

_PAIR, _GROUP = ("anchor", "text"), ("anchor", *ROLES)


class Pasted(NamedTuple):
    """The content: pairs (including groups) or single sentences."""

    probes: list[ProbePair]
    sentences: list[str]


def read_probes(path: Path) -> list[ProbePair]:
    """The sentence pairs of a file in any format that ``curation.tables`` reads.

    See `parse_probes` for the columns.

    Raises:
        HedgerowError: the file can't be read or has no pair, or a row has no anchor or text (the
            message gives its number).
    """
    return parse_probes(path.name, read_bytes(path, kind="sentence pairs", largest=LARGEST_FILE))


def parse_probes(name: str, content: bytes) -> list[ProbePair]:
    """The sentence pairs of a file's content, in its order.

    The columns are anchor, text and optionally label for one pair per row, or anchor, contradicted,
    weakened and affirmed for one group per row, which gives three pairs with these labels. Case
    does not matter. Other columns are ignored.

    Raises:
        HedgerowError: as in `read_probes`.
    """
    return _pairs(open_bytes(content, name, is_prose=False))


def _pairs(table: Table) -> list[ProbePair]:
    names = {column.casefold().strip(): column for column in reversed(table.columns)}
    if missing := _missing(list(names)):
        raise HedgerowError(
            f"Expected the columns anchor and text in {table.name!r}, found "
            f"{listed(table.columns)}; add {' and '.join(missing)}."
        )
    return [
        probe
        for row in table.rows()
        for probe in _probes(
            {name: row.cells.get(column) for name, column in names.items()},
            f"{table.name!r}, {row.unit} {row.number}",
        )
    ]


def parse_file(name: str, content: bytes) -> Pasted:
    """The content of a file: pairs from a table, and sentences from a text without columns.

    Raises:
        HedgerowError: as in `read_probes` and `parse_pasted`.
    """
    table = open_bytes(content, name)
    if table.format is Format.TEXT:
        return parse_pasted("\n".join(row.cells["text"] for row in table.rows()))
    return Pasted(_pairs(table), [])


def parse_pasted(text: str) -> Pasted:
    """Pasted lines: one sentence per line, or columns separated by tabs (or bars: ``a | b``).

    Two columns are a pair, three are a pair and its label, and four are an anchor with its
    contradicted, weakened and affirmed form. All lines have the same number of columns as the
    first. Empty lines and repeated sentences are left out.

    Raises:
        HedgerowError: the text is empty, a line has another number of columns (the message gives
            its number), or a sentence is empty, too long or not plain text.
    """
    separator = "\t" if "\t" in text else "|"
    lines = [
        (number, [cell.strip() for cell in line.split(separator)])
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    if not lines:
        raise HedgerowError("Expected one sentence per line, found nothing; paste some text.")
    columns = len(lines[0][1])
    for number, cells in lines:
        if len(cells) != columns or columns > len(_GROUP):
            expected = (
                "1 to 4 columns"
                if columns > len(_GROUP)
                else f"as many columns as in the first line ({columns})"
            )
            raise HedgerowError(f"Line {number}: expected {expected}, found {len(cells)}.")
    if columns == 1:
        return Pasted([], parse_sentences(text))
    names = _GROUP if columns == len(_GROUP) else ProbePair._fields[:columns]
    if tuple(cell.lower() for cell in lines[0][1]) == names:
        lines = lines[1:]  # the head of the table they were copied from
    records = ((number, dict(zip(names, cells, strict=True))) for number, cells in lines)
    return Pasted([p for number, record in records for p in _probes(record, f"Line {number}")], [])


def parse_sentences(text: str) -> list[str]:
    """The distinct sentences of a text, one per line, in their order. Empty lines are left out.

    Raises:
        HedgerowError: a sentence is too long or not plain text; the message gives its line's
            number.
    """
    sentences = [
        _sentence(line, "sentence", f"Line {number}")
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    return list(dict.fromkeys(sentences))


def _missing(header: Sequence[str]) -> list[str]:
    """The missing columns of a pair; none if the columns of a group exist."""
    return [] if set(_GROUP) <= set(header) else sorted(set(_PAIR) - set(header))


def _probes(record: Mapping[str, object], place: str) -> list[ProbePair]:
    """The pair of a record, or the three pairs of a group."""
    anchor = _sentence(record.get("anchor"), "anchor", place)
    if "text" not in record and set(ROLES) <= set(record):
        return [ProbePair(anchor, _sentence(record[role], role, place), role) for role in ROLES]
    text = _sentence(record.get("text"), "text", place)
    label = _text(record.get("label") or "", "label", place)
    if len(label) > MAX_LABEL:
        raise HedgerowError(
            f"{place}: expected a label of at most {MAX_LABEL} characters; shorten it."
        )
    return [ProbePair(anchor, text, label)]


def _sentence(value: object, name: str, place: str) -> str:
    text = _text(value, name, place)
    if not text:
        raise HedgerowError(f"{place}: {name} is empty; enter a sentence.")
    if len(text) > MAX_TEXT:
        raise HedgerowError(
            f"{place}: expected at most {MAX_TEXT} characters in {name}, found {len(text)}; "
            "shorten it."
        )
    return text


def _text(value: object, name: str, place: str) -> str:
    if not isinstance(value, str):
        raise HedgerowError(f"{place}: expected text in {name}.")
    try:
        return canonical(value)
    except HedgerowError as error:
        raise HedgerowError(f"{place}: {error}") from error
