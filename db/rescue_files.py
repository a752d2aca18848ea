"""Rescue data that can't be stored in its place to another folder until there is space.

If the disk of the database and the data folder is full, the folder for temporary files, the home
folder or this machine's memory may have space.
"""

import os
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PREFIX = "hedgerow-unstored"
MEMORY = Path("/dev/shm")


def put_aside(folder: Path, name: str, content: bytes) -> Path:
    """Write a file to a folder with space, and return its path.

    Args:
        folder: the preferred folder.
        name: a name for the data that is unique to this project and run.

    Raises:
        OSError: no folder has space.
    """
    problem = OSError("no writable folder")
    for place in _places(folder):
        path = place / f"{PREFIX}-{name}-{time.time_ns()}.part"
        try:
            _write(path, content)
            return path.rename(path.with_suffix(".jsonl"))
        except OSError as error:
            problem = error
            with suppress(OSError):
                path.unlink(missing_ok=True)
    raise problem


def find_aside(folder: Path, name: str) -> list[Path]:
    """The files with this name that were put aside earlier, per folder the oldest first."""
    found: list[Path] = []
    for place in _places(folder):
        with suppress(OSError):
            found += filter(_is_ours, sorted(place.glob(f"{PREFIX}-{name}-*.jsonl")))
    return found


def _places(folder: Path) -> list[Path]:
    """The folders to try, in order."""
    places = [folder, Path(tempfile.gettempdir())]
    with suppress(RuntimeError):  # a user without a home folder
        places.append(Path.home())
    return [place for place in dict.fromkeys([*places, MEMORY]) if place.is_dir()]


def _write(path: Path, content: bytes) -> None:
    """Write a new file that only this user can read, and sync it to the disk."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _is_ours(path: Path) -> bool:
    """Whether this user owns the file: others can write to the folder for temporary files."""
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and (os.name != "posix" or found.st_uid == os.geteuid())
