"""Reads records from JSON Lines, or from one JSON list, one by one."""

from collections.abc import Iterator
from typing import Any, BinaryIO

from curation.strict_json import JsonError, read_json, read_json_list
from curation.variants.importing.tables.text_lines import text_lines, text_pieces
from db.errors import HedgerowError

_HEAD = 4096
_UNSEEN = b"\xef\xbb\xbf\xff\xfe \t\r\n"
"""Byte-order marks and white space."""


def first_character(file: BinaryIO) -> bytes:
    """Return the first visible character, and rewind the file."""
    head = file.read(_HEAD)
    file.seek(0)
    return head.replace(b"\0", b"").lstrip(_UNSEEN)[:1]


def read(file: BinaryIO, name: str) -> tuple[str, Iterator[tuple[int, dict[str, Any]]]]:
    """Return the unit of the record numbers, and each record with its number.

    Raises:
        HedgerowError: as in ``text_lines``; or a record is not a JSON object. Raised while reading.
    """
    if first_character(file) == b"[":
        return "record", _listed(file, name)
    return "line", _lines(file, name)


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text_lines(file, name), 1):
        if line and not line.isspace():
            where = f"line {number:,} of {name}"
            try:
                yield number, _object(read_json(line), where)
            except JsonError as error:
                raise HedgerowError(
                    f"Expected one JSON object on {where}, found invalid JSON ({error}); put one "
                    "object on each line, or all objects in one list."
                ) from None


def _listed(file: BinaryIO, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    try:
        for value in read_json_list(text_pieces(file, name)):
            number += 1
            yield number, _object(value, f"record {number:,} of {name}")
    except JsonError as error:
        raise HedgerowError(
            f"Expected a list of JSON objects, but {name} is broken after record {number:,} "
            f"({error}); write it again."
        ) from None


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise HedgerowError(
            f'Expected a JSON object at {where}, found something else; write {{"anchor": "…", …}}.'
        )
    return value
