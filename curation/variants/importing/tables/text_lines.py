"""Decodes the lines of a text file one by one."""

import codecs
import io
from collections.abc import Iterator
from typing import BinaryIO

from curation.anchors.importing.decoding import MAX_LINE, not_utf8
from db.errors import HedgerowError

_PIECE = 1 << 16
"""Characters."""


def text_lines(file: BinaryIO, name: str) -> Iterator[str]:
    """Yield the lines with their line ends, in UTF-8 (with or without a byte-order mark) or UTF-16
    with one.

    Raises:
        HedgerowError: another encoding, a NUL byte, or a line longer than ``MAX_LINE`` bytes; the
            message names the line.
    """
    head = file.read(4)
    file.seek(0)
    if head in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        raise HedgerowError(f"Expected UTF-8, but {name} is UTF-32; save it as UTF-8.")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield from _utf16_lines(file, name)
        return
    if head.startswith(codecs.BOM_UTF8):
        file.seek(len(codecs.BOM_UTF8))
    number = 0
    while raw := file.readline(MAX_LINE + 1):
        number += 1
        _check_length(len(raw), number, name)
        if b"\0" in raw:
            raise HedgerowError(_nul(number, name))
        try:
            yield raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise HedgerowError(
                not_utf8(name, line=number, byte=raw[error.start], place=error.start + 1)
            ) from None


def text_pieces(file: BinaryIO, name: str) -> Iterator[str]:
    """Yield the text in pieces, regardless of lines, in the same encodings.

    Raises:
        HedgerowError: another encoding.
    """
    is_utf16 = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    file.seek(0)
    text = io.TextIOWrapper(file, encoding="utf-16" if is_utf16 else "utf-8-sig")
    try:
        while piece := text.read(_PIECE):
            yield piece
    except UnicodeError as error:
        raise HedgerowError(f"Expected UTF-8 in {name} ({error}); save it as UTF-8.") from None


def _utf16_lines(file: BinaryIO, name: str) -> Iterator[str]:
    text = io.TextIOWrapper(file, encoding="utf-16", newline="\n")
    number = 0
    try:
        while line := text.readline(MAX_LINE + 1):
            number += 1
            _check_length(len(line), number, name)
            if "\0" in line:
                raise HedgerowError(_nul(number, name))
            yield line
    except UnicodeError:
        raise HedgerowError(
            f"{name} looks like UTF-16 but is damaged after line {number:,}; save it as UTF-8."
        ) from None


def _check_length(length: int, number: int, name: str) -> None:
    if length > MAX_LINE:
        raise HedgerowError(
            f"Line {number:,} of {name} is longer than {MAX_LINE >> 20} MB; put one row on each "
            "line."
        )


def _nul(number: int, name: str) -> str:
    return (
        f"Line {number:,} of {name} contains a NUL byte, so the file is not UTF-8 text; save it "
        "as UTF-8, or choose another file."
    )
