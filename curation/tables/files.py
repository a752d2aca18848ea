"""Find the files of a table, one or those in a folder or a zip archive, and decode their text.

The encoding is not guessed, because a wrong guess would silently change letters. A file that is
neither UTF-8 nor UTF-16 with a byte-order mark is refused with the position of the first wrong
byte.
"""

import codecs
import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from db.errors import HedgerowError
from db.named_files import resolved

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


ENDINGS = (".parquet", ".jsonl", ".ndjson", ".csv", ".tsv", ".tab", ".json")
"""File name extensions. In a folder, only files with the first one that occurs are read."""

_OWN_TABLES = ("variants", "pairs")
"""Files in a Hedgerow export that contain more than its triples, and are read instead."""

_HEAD = 64 * 1024
_ZIP = b"PK\x03\x04"
_NAME_SHOWN = 80


class Part(NamedTuple):
    """A file with rows.

    Attributes:
        open: opens it at the beginning.
    """

    name: str
    open: Callable[[], BinaryIO]


class Parts(NamedTuple):
    """All files that are read as one table.

    Attributes:
        name: its name in messages, and in notes on imported rows.
        content_hash: SHA-256 over the bytes of the files.
    """

    name: str
    files: Sequence[Part]
    content_hash: str


def parts_of_path(path: Path) -> Parts:
    """The parts of a file, a folder or a zip archive.

    Raises:
        HedgerowError: it is empty, too large or of another kind, or contains no table.
        OSError: it cannot be read.
    """
    place = resolved(path)
    name = _shortened(place.name)
    if place.is_dir():
        found = sorted(one for one in place.rglob("*") if one.is_file())
        inside = {one.relative_to(place).as_posix(): one for one in found}
        sizes = {name: one.stat().st_size for name, one in inside.items()}
        return _several(name, sizes, lambda one: inside[one].open("rb"))
    check_size(place.stat().st_size, name)
    return _one(name, lambda: place.open("rb"))


def parts_of_upload(data: bytes, name: str) -> Parts:
    """The parts of an uploaded file or zip archive.

    Raises:
        HedgerowError: as in ``parts_of_path``.
    """
    check_size(len(data), _shortened(name))
    return _one(_shortened(name), lambda: io.BytesIO(data))


def _one(name: str, opened: Callable[[], BinaryIO]) -> Parts:
    with opened() as file:
        head = file.read(_HEAD)
        if head.startswith(_ZIP) and (inside := _unpacked(file)) is not None:
            sizes = {one: len(data) for one, data in inside.items()}
            return _several(name, sizes, lambda one: io.BytesIO(inside[one]))
    return _hashed(name, [Part(name, opened)])


def _unpacked(file: BinaryIO) -> dict[str, bytes] | None:
    """The tables in a zip archive by name; None if it has none, like an office file.

    Raises:
        HedgerowError: it is damaged, or too large when unpacked.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            names = _tables(entry.filename for entry in archive.infolist() if not entry.is_dir())
            if not names:
                return None
            check_size(sum(archive.getinfo(name).file_size for name in names), "the archive")
            return {name: archive.read(name) for name in names}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError):
        raise HedgerowError(
            "The zip archive cannot be read because it is damaged or encrypted; unpack it and "
            "choose the file inside."
        ) from None


def _several(name: str, sizes: dict[str, int], opened: Callable[[str], BinaryIO]) -> Parts:
    names = _tables(sizes)
    if not names:
        raise HedgerowError(
            f"Expected a table in {name} ({', '.join(ENDINGS)}), found none; choose another folder."
        )
    check_size(sum(sizes[one] for one in names), name)
    return _hashed(name, [Part(_shortened(one), partial(opened, one)) for one in names])


def _tables(names: Iterable[str]) -> list[str]:
    """The files to read together: those with the most complete table, in one format."""
    paths = [path for path in map(PurePosixPath, sorted(names)) if path.suffix.lower() in ENDINGS]
    paths = [path for path in paths if not any(part.startswith(".") for part in path.parts)]
    for table in _OWN_TABLES:
        paths = [path for path in paths if path.stem == table or path.parent.name == table] or paths
    for ending in ENDINGS:
        if found := [path for path in paths if path.suffix.lower() == ending]:
            return [path.as_posix() for path in found]
    return []


def _hashed(name: str, files: Sequence[Part]) -> Parts:
    digest = hashlib.sha256()
    for part in files:
        with part.open() as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return Parts(name, files, digest.hexdigest())


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME_SHOWN else f"{name[:_NAME_SHOWN]}…"
