"""Read anchors from an upload, a file or pasted text: format, columns and rows.

Formats are recognised by content as well as by name: a renamed image, spreadsheet or program is
refused. A file that cannot be read is refused as a whole, in one sentence.
"""

import hashlib
from dataclasses import replace
from pathlib import PurePath

from curation.anchors.importing.decoding import ACCEPTED, PARQUET, check_kind, check_size, decode
from curation.anchors.importing.delimited import csv_delimiter, looks_delimited, read_csv, read_tsv
from curation.anchors.importing.file_table import FileTable, Format
from curation.anchors.importing.labels import with_labels
from curation.anchors.importing.records import read_jsonl, read_parquet, read_text
from curation.gc_pause import collector_paused
from db.errors import HedgerowError

PASTED = "the pasted text"

ENDINGS = {
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSONL,
    ".parquet": Format.PARQUET,
    ".txt": Format.TEXT,
    ".text": Format.TEXT,
}
"""File name extension → format; other files are recognised by content."""

_NAME_SHOWN = 80


def read_file(data: bytes, *, name: str, format: Format | None = None) -> FileTable:
    """The table of an uploaded file.

    Args:
        data: its bytes.
        name: its name, for the extension and for messages.
        format: the format, whatever the name; None to detect it by name and content.

    Raises:
        HedgerowError: the file is empty, too large, not a table of texts, or damaged; the message
            names the line if known.
    """
    short = name if len(name) <= _NAME_SHOWN else f"{name[:_NAME_SHOWN]}…"
    check_size(data, short)
    check_kind(data, short)
    if data.startswith(PARQUET):
        table = read_parquet(data, name=short)
    else:
        wanted = format or ENDINGS.get(PurePath(name).suffix.lower())
        table = _read_decoded(decode(data, short), short, wanted)
    return _hashed(table, data)


def read_pasted(text: str, *, format: Format | None = None) -> FileTable:
    """The table of a pasted text: one sentence per line, or rows with a header as in a file.

    Raises:
        HedgerowError: as ``read_file``.
    """
    data = text.encode("utf-8", "surrogatepass")
    if not text.strip():
        raise HedgerowError("The pasted text is empty; paste one anchor per line.")
    check_size(data, PASTED)
    return _hashed(_read_decoded(decode(data, PASTED), PASTED, format), data)


def _read_decoded(text: str, name: str, format: Format | None) -> FileTable:
    if not text.strip():
        raise HedgerowError(f"{name} contains only white space; choose a file with anchors.")
    with collector_paused():
        return _read_rows(text, name, format)


def _read_rows(text: str, name: str, format: Format | None) -> FileTable:
    match format or _format_of(text):
        case Format.CSV:
            return read_csv(text, name=name)
        case Format.TSV:
            return read_tsv(text, name=name)
        case Format.JSONL:
            return read_jsonl(text, name=name)
        case Format.PARQUET:
            raise HedgerowError(
                f"Expected a Parquet file, but {name} has another format; choose {ACCEPTED}, or "
                "correct its extension."
            )
    return read_text(text, name=name)


def _format_of(text: str) -> Format:
    """The format of a text whose name does not show it: plain unless its first line is a header."""
    if text.lstrip()[:1] == "{":
        return Format.JSONL
    if looks_delimited(text, "\t"):
        return Format.TSV
    return Format.CSV if looks_delimited(text, csv_delimiter(text)) else Format.TEXT


def _hashed(table: FileTable, data: bytes) -> FileTable:
    digest = hashlib.sha256(data).hexdigest()
    return replace(with_labels(table), content_hash=digest)
