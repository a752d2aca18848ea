"""Find the files of a table: one file, or those in a folder or a zip archive."""

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from curation.tables.decoding import check_size
from db.errors import HedgerowError
from db.named_files import resolved

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
