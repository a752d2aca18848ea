"""Files and folders that people name on the command line, in recipes and in settings."""

import hashlib
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
