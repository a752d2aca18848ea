"""Files and folders that people name, and files for data that the disk has no space for."""

import hashlib
import os
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from db.errors import HedgerowError

LARGEST_WRITTEN = 1024 * 1024
"""Maximum bytes of a handwritten file, such as a prompt or a guideline."""


def expanded(path: Path | str) -> Path:
    """The path with a leading ``~`` replaced by the home folder.

    Raises:
        HedgerowError: there is no such user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise HedgerowError(
            f"Expected a path, but {str(path)!r} names the home folder of an unknown user; write "
            "'./~' for a folder with this name."
        ) from error


def resolved(path: Path | str) -> Path:
    """The expanded path, absolute and without links.

    Raises:
        HedgerowError: as in `expanded`, or its links form a loop.
    """
    try:
        return expanded(path).resolve()
    except RuntimeError as error:
        raise HedgerowError(
            f"The path {str(path)!r} is a link that points to itself; choose another one."
        ) from error


def read_bytes(path: Path, *, kind: str, largest: int) -> bytes:
    """The content of a file, up to a maximum size.

    Args:
        kind: the expected kind of file, with its article: 'a recipe'.
        largest: the maximum size in bytes.

    Raises:
        HedgerowError: the file is larger or can't be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)  # devices and pipes have no known size
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise HedgerowError(f"Could not read {str(path)!r}: {reason}.") from error
    if len(content) > largest:
        raise HedgerowError(f"{str(path)!r} is too large for {kind}; check the path.")
    return content


def read_text(path: Path, *, kind: str, largest: int) -> str:
    """The content of a UTF-8 text file, with line ends as '\\n'.

    Raises:
        HedgerowError: as in `read_bytes`, or the file is not UTF-8.
    """
    try:
        text = read_bytes(path, kind=kind, largest=largest).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HedgerowError(f"Expected UTF-8 text in {str(path)!r}; save it as UTF-8.") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's content, 64 hex digits.

    Raises:
        OSError: it can't be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# -- rescuing data that can't be stored in its place to another folder until there is space -------
#
# If the disk of the database and the data folder is full, the folder for temporary files, the home
# folder or this machine's memory may have space.


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
