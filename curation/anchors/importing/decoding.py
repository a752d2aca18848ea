"""Decode the bytes of a file to text, or say in one sentence why that is impossible.

The encoding is not guessed, because a wrong guess would silently change letters. A file that is
neither UTF-8 nor UTF-16 with a byte-order mark is refused with the position of the first wrong
byte.
"""

import codecs
from typing import AnyStr

from db.errors import HedgerowError

MAX_BYTES = 64 * 1024 * 1024
"""Maximum file size, enough for about 500,000 sentences."""

MAX_LINE = 1024 * 1024
"""Maximum line length in bytes; a longer line means that line breaks are missing."""

ACCEPTED = "CSV, TSV, JSON Lines, Parquet or plain text"

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
)
_HEAD = 4096
_PACKED = ("a file packed", "a zip", "a 7-Zip", "a RAR")
_OFFICE_FILES = ("an Excel", "a Word", "an old Excel", "an OpenDocument")


def check_size(data: bytes, name: str) -> None:
    """Refuse an empty or too large file.

    Raises:
        HedgerowError: the file is empty, or larger than ``MAX_BYTES``.
    """
    if not data:
        raise HedgerowError(f"{name} is empty; choose a file with one anchor per row.")
    if len(data) > MAX_BYTES:
        raise HedgerowError(
            f"Expected at most {MAX_BYTES >> 20} MB, found more in {name}; split it and add the "
            "parts one after another."
        )


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
    else:
        hint = "choose another file"
    raise HedgerowError(f"Expected {ACCEPTED}, but {name} is {kind}; {hint}.")


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
    if (
        head.lstrip(codecs.BOM_UTF8 + b" \t\r\n")[:14]
        .lower()
        .startswith((b"<!doctype html", b"<html"))
    ):
        return "a web page"
    return None


def _is_binary(head: bytes) -> bool:
    """Whether a short signature is more than the start of a text."""
    return any(byte < 9 or 13 < byte < 27 for byte in head[:64])


def decode(data: bytes, name: str) -> str:
    """The text of a file in UTF-8 (with or without a byte-order mark) or UTF-16 with one.

    Raises:
        HedgerowError: another encoding, a NUL byte, or a line longer than ``MAX_LINE``; the message
            names the line and, if known, the byte.
    """
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise HedgerowError(f"Expected UTF-8, but {name} is UTF-32; save it as UTF-8.")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = _decode_utf16(data, name)
        _check_lines(text, "\n", "\r", name)
        _check_nul(text.find("\0"), text, name)
        return text
    data = data.removeprefix(codecs.BOM_UTF8)
    _check_nul(data.find(0), data, name)
    _check_lines(data, b"\n", b"\r", name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HedgerowError(_wrong_byte(data, error.start, name)) from None


def _decode_utf16(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-16")
    except UnicodeDecodeError as error:
        raise HedgerowError(
            f"{name} looks like UTF-16 but is cut off or damaged at byte {error.start + 1:,}; "
            "save it again as UTF-8."
        ) from None


def _check_nul(position: int, data: AnyStr, name: str) -> None:
    if position >= 0:
        raise HedgerowError(
            f"Line {_line(data, position):,} of {name} contains a NUL byte, so the file is not "
            "UTF-8 text; save it as UTF-8, or choose another file."
        )


def _line(data: AnyStr, position: int) -> int:
    """The number of the line that contains this position, from 1."""
    before = data[:position]
    if isinstance(before, bytes):
        return max(before.count(b"\n"), before.count(b"\r")) + 1
    return max(before.count("\n"), before.count("\r")) + 1


def _check_lines(data: AnyStr, feed: AnyStr, carriage: AnyStr, name: str) -> None:
    """Refuse a line longer than ``MAX_LINE``, checking only once per ``MAX_LINE`` characters."""
    start = 0
    while len(data) - start > MAX_LINE:
        end = max(
            data.rfind(feed, start, start + MAX_LINE), data.rfind(carriage, start, start + MAX_LINE)
        )
        if end < 0:
            raise HedgerowError(
                f"Line {_line(data, start):,} of {name} is longer than {MAX_LINE >> 20} MB; "
                "put one anchor on a line."
            )
        start = end + 1


def _wrong_byte(data: bytes, position: int, name: str) -> str:
    begin = max(data.rfind(b"\n", 0, position), data.rfind(b"\r", 0, position)) + 1
    return not_utf8(
        name, line=_line(data, position), byte=data[position], place=position - begin + 1
    )


def not_utf8(name: str, *, line: int, byte: int, place: int) -> str:
    """The message for a byte that is not UTF-8.

    Args:
        place: position of the byte in its line, from 1.
    """
    return (
        f"{name} is not UTF-8: line {line:,} has the byte 0x{byte:02X} at position {place:,}. It "
        "may be Latin-1 or Windows-1252. Save it as UTF-8."
    )
