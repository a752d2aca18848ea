"""What can't be stored where it belongs, kept in another place until there is room.

A disk that is full is mostly that of the database and of the data folder; the folder for temporary
files, the home folder or the memory of this machine may have room.
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
    """Write a file where there is room; gives its path.

    Args:
        folder: where it belongs, and which is tried first.
        name: of what it is; no other project and no other run has the same.

    Raises:
        OSError: nowhere is room.
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
    """The files of this name that were put aside earlier, the oldest of a place first."""
    found: list[Path] = []
    for place in _places(folder):
        with suppress(OSError):
            found += filter(_is_ours, sorted(place.glob(f"{PREFIX}-{name}-*.jsonl")))
    return found


def _places(folder: Path) -> list[Path]:
    """Where there may be room, the best first."""
    places = [folder, Path(tempfile.gettempdir())]
    with suppress(RuntimeError):  # a user without a home
        places.append(Path.home())
    return [place for place in dict.fromkeys([*places, MEMORY]) if place.is_dir()]


def _write(path: Path, content: bytes) -> None:
    """Write a new file that only this user can read, to the disk."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _is_ours(path: Path) -> bool:
    """Whether this user wrote it: others may write in the folder for temporary files, too."""
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and (os.name != "posix" or found.st_uid == os.geteuid())
