"""Decode the bytes of a file to text, or say in one sentence why that is impossible.

The encoding is not guessed, because a wrong guess would silently change letters. A file that is
neither UTF-8 nor UTF-16 with a byte-order mark is refused with the position of the first wrong
byte.
"""

import codecs
import io
import re
from collections.abc import Iterator
from typing import BinaryIO

from db.errors import HedgerowError

MAX_BYTES = 500 * 1024 * 1024
"""Maximum size, for a folder or an archive of all its files together."""

MAX_LINE = 1024 * 1024
"""Maximum line length in characters; a longer line means that line breaks are missing."""

ACCEPTED = (
    "CSV, TSV, JSON, JSON Lines, Parquet, or an export of Hedgerow, Label Studio, Argilla, "
    "doccano, Prodigy, Potato or INCEpTION"
)

PARQUET = b"PAR1"

_KINDS: dict[str, dict[str, bytes]] = {
    "choose another file": {
        "a PNG image": rb"\x89PNG\r\n",
        "a JPEG image": rb"\xff\xd8\xff",
        "a GIF image": rb"GIF8[79]a",
        "a TIFF image": rb"II\*\x00|MM\x00\*",
        "a WebP image": rb"RIFF....WEBP",
        "a sound or video file": rb"RIFF....(WAVE|AVI )|OggS",
        "a video or HEIC image": rb"....ftyp",
        "a PDF document": rb"%PDF-",
        "an RTF document": rb"\{\\rtf",
        "a program": rb"\x7fELF|\xcf\xfa\xed\xfe|MZ.{0,60}[\0-\x08]",
        "a BMP image": rb"BM.{0,60}[\0-\x08]",
        "an ORC file": rb"ORC.{0,60}[\0-\x08]",
        "a sound file": rb"ID3.{0,60}[\0-\x08]",
        "an SQLite database": rb"SQLite format 3\x00",
        "an Arrow (Feather) file": rb"ARROW1|\xff\xff\xff\xff",
        "a pickled Python object": rb"\x80[\x02-\x05]",
        "an HDF5 file": rb"\x89HDF",
        "a NumPy array": rb"\x93NUMPY",
        "an Avro file": rb"Obj\x01",
    },
    "save its sheet or text as CSV or plain text and choose that file": {
        "an old Excel or Word file": rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an Excel workbook": rb"PK\x03\x04.*xl/",
        "a Word document": rb"PK\x03\x04.*word/",
        "a PowerPoint file": rb"PK\x03\x04.*ppt/",
        "an OpenDocument file": rb"PK\x03\x04.*opendocument",
        "a Numbers or Pages file": rb"PK\x03\x04.*\.iwa",
    },
    "unpack it and choose the file inside": {
        "a file packed with gzip": rb"\x1f\x8b",
        "a file packed with xz": rb"\xfd7zXZ\x00",
        "a file packed with zstd": rb"\x28\xb5\x2f\xfd",
        "a 7-Zip archive": rb"7z\xbc\xaf\x27\x1c",
        "a RAR archive": rb"Rar!\x1a\x07",
        "a file packed with bzip2": rb"BZh.{0,60}[\0-\x08]",
        "a zip archive": rb"PK\x03\x04",
    },
    "save its sentences as plain text, or its table as CSV": {
        "a web page": rb"(?i:<!doctype html|<html)",
        "a file in XML or HTML": (
            rb"(?i:<[?!a-z][^<>]*>\s*[<\n]|<(\w+)[^<>\n]*>[^\n]*</\1>\s*(<|$))"
        ),
        "an SQL script": (
            rb"(--[^\n]*\n|\s|/\*)*((CREATE|DROP) TABLE|INSERT INTO|SET \w+ ?=|PRAGMA|!\d+ SET) "
        ),
        "a LaTeX file": rb"(%[^\n]*\n)*\\documentclass",
        "a BibTeX file": rb"@\w+\{",
        "a file of subtitles": rb"WEBVTT|(\d+\s+)?\d+:[\d:,.]+ --> ",
        "a YAML file": rb"---\s*\n[\w-]+:|- ?\w+:[^\n]*\n +\w+:",
        "a file of annotations from brat, without their texts": rb"T\d+\t\S+ \d+ \d+",
        "a file with fields between |||": rb"[^\n{\[\"][^\n]* \|\|\| |S [^\n]*\nA -?\d+ ",
        "a file of parse trees": rb"\((ROOT|TOP|S\w*|\d)? ?\([A-Z\d]",
        "a table drawn with lines": (rb"\+[-=+]+\+\s|[^\n|]*\|[^\n]*\n[|:+ -]*-[|:+ -]*\r?\n"),
    },
}
"""What to do → what a file is that we cannot read → its beginning."""


def check_kind(data: bytes, name: str) -> None:
    """Refuse a file whose first bytes show that it has another format, whatever its name.

    Raises:
        HedgerowError: the file is an image, an archive, an office file, a program, a web page …
    """
    data = data.lstrip(codecs.BOM_UTF8 + b" \t\r\n")
    for hint, kinds in _KINDS.items():
        for kind, begin in kinds.items():
            if re.match(begin, data, re.DOTALL):
                raise HedgerowError(f"Expected a table or a text, but {name} is {kind}; {hint}.")


def check_size(size: int, name: str) -> None:
    """Refuse an empty or too large file.

    Args:
        size: in bytes.

    Raises:
        HedgerowError: the file is empty, or larger than ``MAX_BYTES``.
    """
    if not size:
        raise HedgerowError(f"{name} is empty; choose another file.")
    if size > MAX_BYTES:
        raise HedgerowError(
            f"Expected at most {MAX_BYTES >> 20} MB, found {size >> 20:,} MB in {name}; split it "
            "and import the parts one after another."
        )


def lines(file: BinaryIO, name: str) -> Iterator[str]:
    """Yield the lines with their line ends, which are LF, CR or both.

    Raises:
        HedgerowError: not UTF-8 (with or without a byte-order mark) and not UTF-16 with one, a NUL
            character, or a line longer than ``MAX_LINE``; the message names the line.
    """
    text, number = _opened(file, name, newline=""), 0
    try:
        while line := text.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise HedgerowError(
                    f"Line {number:,} of {name} is longer than {MAX_LINE >> 20} MB; put one row on "
                    "each line."
                )
            if "\0" in line:
                raise HedgerowError(
                    f"Line {number:,} of {name} contains a NUL byte, so the file is not UTF-8 "
                    "text; save it as UTF-8, or choose another file."
                )
            yield line
    except UnicodeError:
        raise HedgerowError(_undecodable(file, name, number)) from None
    finally:
        if not text.closed:
            text.detach()  # whoever opened the file closes it


def pieces(file: BinaryIO, name: str) -> Iterator[str]:
    """Yield the text in pieces of about 64,000 characters, with LF as the only line end.

    Raises:
        HedgerowError: as in ``lines``, apart from NUL characters and long lines.
    """
    text = _opened(file, name, newline=None)
    try:
        while piece := text.read(1 << 16):
            yield piece
    except UnicodeError:
        raise HedgerowError(_undecodable(file, name, 0)) from None
    finally:
        if not text.closed:
            text.detach()


def _opened(file: BinaryIO, name: str, *, newline: str | None) -> io.TextIOWrapper:
    file.seek(0)
    head = file.read(4)
    file.seek(0)
    if head in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        raise HedgerowError(f"Expected UTF-8, but {name} is UTF-32; save it as UTF-8.")
    return io.TextIOWrapper(file, "utf-16" if _is_utf16(head) else "utf-8-sig", newline=newline)


def _is_utf16(head: bytes) -> bool:
    return head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def _undecodable(file: BinaryIO, name: str, before: int) -> str:
    """Why a file cannot be decoded: its first wrong byte, or the line after which it is damaged."""
    file.seek(0)
    for number, raw in enumerate(file, 1):
        if number == 1 and _is_utf16(raw):
            break
        line = raw.removeprefix(codecs.BOM_UTF8)
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            start = line[: error.start]
            return (
                f"{name} is not UTF-8: line {number + start.count(13):,} has the byte "
                f"0x{line[error.start]:02X} at position {error.start - start.rfind(13):,}. It may "
                "be Latin-1 or Windows-1252. Save it as UTF-8."
            )
    return f"{name} looks like UTF-16 but is damaged after line {before:,}; save it as UTF-8."
