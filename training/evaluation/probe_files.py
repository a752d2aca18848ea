"""Reading probes and sentences from files and pasted text."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from curation.content_uids import canonical
from curation.review.actions import MAX_TEXT
from curation.strict_json import JsonError, read_json
from db.errors import HedgerowError
from db.named_files import read_bytes
from training.evaluation.similarity import ROLES, ProbePair

MAX_LABEL = 80
"""Maximum number of characters of a label in the database."""

LARGEST_FILE = 64 * 1024 * 1024
"""Maximum size of a file in bytes."""

FILE_TYPES = ("csv", "tsv", "jsonl", "txt")

_PAIR, _GROUP = ("anchor", "text"), ("anchor", *ROLES)


class Pasted(NamedTuple):
    """The content: pairs (including groups) or single sentences."""

    probes: list[ProbePair]
    sentences: list[str]


def read_probes(path: Path) -> list[ProbePair]:
    """Read sentence pairs: .csv or .tsv with a header line, or .jsonl, UTF-8.

    See `parse_probes` for the columns.

    Raises:
        HedgerowError: the file has another kind, can't be read, or has no pair, or a line has no
            anchor or text (the message gives its number).
    """
    _reader(path.name)
    return parse_probes(path.name, read_bytes(path, kind="sentence pairs", largest=LARGEST_FILE))


def parse_probes(name: str, content: bytes) -> list[ProbePair]:
    """The sentence pairs of a file's content, in its order.

    The columns (or keys) are anchor, text and optionally label for one pair per line, or anchor,
    contradicted, weakened and affirmed for one group per line, which gives three pairs with these
    labels. Other columns are ignored.

    Args:
        name: the file's name; its extension determines the format.

    Raises:
        HedgerowError: as in `read_probes`.
    """
    reader = _reader(name)
    text = _decoded(name, content)
    probes = [
        probe
        for line, record in reader(io.StringIO(text, newline=""), name)
        for probe in _probes(record, f"{name!r}, line {line}")
    ]
    if not probes:
        raise HedgerowError(f"Expected at least one pair in {name!r}, found none.")
    return probes


def parse_file(name: str, content: bytes) -> Pasted:
    """The content of a file: sentences from .txt (or as in `parse_pasted`), pairs from other
    formats.

    Raises:
        HedgerowError: as in `read_probes` and `parse_pasted`.
    """
    if name.lower().endswith(".txt"):
        return parse_pasted(_decoded(name, content))
    return Pasted(parse_probes(name, content), [])


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


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HedgerowError(f"Expected UTF-8 text in {name!r}; save the file as UTF-8.") from error


Records = Iterator[tuple[int, Mapping[str, object]]]


def _csv_records(file: io.StringIO, name: str) -> Records:
    return _table_records(csv.DictReader(file, strict=True), name)


def _tsv_records(file: io.StringIO, name: str) -> Records:
    # In TSV a quotation mark is a character of the text.
    return _table_records(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), name)


def _table_records(reader: csv.DictReader[str], name: str) -> Records:
    try:
        header = reader.fieldnames or []
        if missing := _missing(header):
            raise HedgerowError(
                f"Expected the columns anchor and text in the first line of {name!r}, but did "
                f"not find {' and '.join(missing)}; add the column names."
            )
        if repeated := next((name for name in header if header.count(name) > 1), None):
            raise HedgerowError(
                f"Expected every column once in {name!r}, found {repeated[:80]!r} twice; rename "
                "one."
            )
        for record in reader:
            if None in record or None in record.values():
                raise HedgerowError(
                    f"{name!r}, line {reader.line_num}: expected {len(header)} fields, as in the "
                    "first line, found a different number."
                )
            yield reader.line_num, record
    except csv.Error as error:
        line = reader.reader.line_num  # a broken record leaves the outer one
        raise HedgerowError(f"{name!r}, line {line}: {error}.") from error


def _missing(header: Sequence[str]) -> list[str]:
    """The missing columns of a pair; none if the columns of a group exist."""
    return [] if set(_GROUP) <= set(header) else sorted(set(_PAIR) - set(header))


def _jsonl_records(file: io.StringIO, name: str) -> Records:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            record = read_json(line)
        except JsonError as error:
            raise HedgerowError(f"{name!r}, line {number}: expected JSON ({error}).") from error
        if not isinstance(record, dict):
            raise HedgerowError(
                f"{name!r}, line {number}: expected an object with anchor and text."
            )
        yield number, record


_READERS: dict[str, Callable[[io.StringIO, str], Records]] = {
    ".csv": _csv_records,
    ".tsv": _tsv_records,
    ".jsonl": _jsonl_records,
}


def _reader(name: str) -> Callable[[io.StringIO, str], Records]:
    reader = _READERS.get(Path(name).suffix.lower())
    if reader is None:
        raise HedgerowError(f"Expected probes in a .csv, .tsv or .jsonl file, found {name!r}.")
    return reader


def _probes(record: Mapping[str, object], place: str) -> list[ProbePair]:
    """The pair of a record, or the three pairs of a group."""
    anchor = _sentence(record.get("anchor"), "anchor", place)
    if "text" not in record and set(ROLES) <= set(record):
        return [ProbePair(anchor, _sentence(record[role], role, place), role) for role in ROLES]
    text = _sentence(record.get("text"), "text", place)
    label = _text(record.get("label", ""), "label", place)
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
