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

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"%PDF-", "a PDF document"),
    (b"{\\rtf", "an RTF document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel or Word file"),
    (b"\x7fELF", "a program"),
    (b"\xcf\xfa\xed\xfe", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x1f\x8b", "a file packed with gzip"),
    (b"BZh", "a file packed with bzip2"),
    (b"\xfd7zXZ\x00", "a file packed with xz"),
    (b"\x28\xb5\x2f\xfd", "a file packed with zstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"ARROW1", "an Arrow (Feather) file"),
    (b"\xff\xff\xff\xff", "an Arrow stream"),
    (b"\x80\x04\x95", "a pickled Python object"),
    (b"\x80\x05\x95", "a pickled Python object"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"Obj\x01", "an Avro file"),
    (b"ORC", "an ORC file"),
    (b"ID3", "a sound file"),
    (b"OggS", "a sound file"),
)
_ZIP = b"PK\x03\x04"
_OFFICE = (
    (b"xl/", "an Excel workbook"),
    (b"word/", "a Word document"),
    (b"ppt/", "a PowerPoint file"),
    (b"opendocument", "an OpenDocument file"),
    (b".iwa", "a Numbers or Pages file"),
)
_TEXTS = tuple(
    (re.compile(pattern, re.DOTALL), kind)
    for pattern, kind in (
        (rb"(?i:<!doctype html|<html)", "a web page"),
        (
            rb"(?i:<[?!a-z][^<>]*>\s*[<\n]|<(\w+)[^<>\n]*>[^\n]*</\1>\s*(<|$))",
            "a file in XML or HTML",
        ),
        (
            rb"(--[^\n]*\n|\s|/\*)*(CREATE|DROP|INSERT INTO|SET \w+ ?=|PRAGMA|!\d+ SET) ",
            "an SQL script",
        ),
        (rb"(%[^\n]*\n)*\\documentclass", "a LaTeX file"),
        (rb"@\w+\{", "a BibTeX file"),
        (rb"WEBVTT|(\d+\s+)?\d+:[\d:,.]+ --> ", "a file of subtitles"),
        (rb"---\s*\n[\w-]+:|- ?\w+:[^\n]*\n +\w+:", "a YAML file"),
        (rb"T\d+\t\S+ \d+ \d+", "a file of annotations from brat, without their texts"),
        (rb"[^\n{\[\"][^\n]* \|\|\| |S [^\n]*\nA -?\d+ ", "a file with fields between |||"),
        (rb"\((ROOT|TOP|S\w*|\d)? ?\([A-Z\d]", "a file of parse trees"),
        (rb"\+[-=+]+\+\s|[^\n]*\|[^\n]*\n[|:+ -]*-[|:+ -]*\r?\n", "a table drawn with lines"),
    )
)
"""Texts that are neither sentences nor a table, by their beginning."""

_HEAD = 4096
_PACKED = ("a file packed", "a zip", "a 7-Zip", "a RAR")
_OFFICE_FILES = ("an Excel", "a Word", "an old Excel", "an OpenDocument", "a Numbers")


def check_kind(data: bytes, name: str) -> None:
    """Refuse a file whose first bytes show that it has another format, whatever its name.

    Raises:
        HedgerowError: the file is an image, an archive, an office file, a program, a web page …
    """
    kind = _foreign_kind(data)
    if kind is None:
        return
    if kind.startswith(_OFFICE_FILES):
        hint = "save its sheet or text as CSV or plain text and choose that file"
    elif kind.startswith(_PACKED):
        hint = "unpack it and choose the file inside"
    elif any(kind == text for _, text in _TEXTS):
        hint = "save its sentences as plain text, or its table as CSV"
    else:
        hint = "choose another file"
    raise HedgerowError(f"Expected a table or a text, but {name} is {kind}; {hint}.")


def _foreign_kind(data: bytes) -> str | None:
    head = data[:_HEAD]
    for signature, kind in _SIGNATURES:
        if head.startswith(signature) and (len(signature) > 3 or _is_binary(head)):
            return kind
    if head.startswith(_ZIP):
        return next((kind for part, kind in _OFFICE if part in data), "a zip archive")
    if head[:4] == b"RIFF":
        return "a WebP image" if head[8:12] == b"WEBP" else "a sound or video file"
    if head[4:8] == b"ftyp":
        return "a video or HEIC image"
    if head.startswith((b"MZ", b"BM")) and b"\x00" in head[:64]:
        return "a program" if head.startswith(b"MZ") else "a BMP image"
    head = head.lstrip(codecs.BOM_UTF8 + b" \t\r\n")
    return next((kind for pattern, kind in _TEXTS if pattern.match(head)), None)


def _is_binary(head: bytes) -> bool:
    """Whether a short signature is more than the start of a text."""
    return any(byte < 9 or 13 < byte < 27 for byte in head[:64])


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
