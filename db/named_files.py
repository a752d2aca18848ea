"""Files and folders as people name them on the command line, in recipes and in settings."""

from pathlib import Path

from db.errors import HedgerowError

LARGEST_WRITTEN = 1024 * 1024
"""Bytes of what somebody writes by hand: a prompt, a guideline."""


def expanded(path: Path | str) -> Path:
    """The path with a ``~`` at its beginning replaced by the home folder that it stands for.

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
    """The same, absolute and without links.

    Raises:
        HedgerowError: as `expanded`, or its links lead in a circle.
    """
    try:
        return expanded(path).resolve()
    except RuntimeError as error:
        raise HedgerowError(
            f"The path {str(path)!r} is a link that points to itself; choose another."
        ) from error


def read_bytes(path: Path, *, kind: str, largest: int) -> bytes:
    """The content of a file, of which no more is read than it may have.

    Args:
        kind: what it should be, with its article: 'a recipe'.
        largest: bytes; a larger file is something else.

    Raises:
        HedgerowError: it is larger, or can't be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)  # a device or a pipe does not say how long it is
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise HedgerowError(f"Could not read {str(path)!r}: {reason}.") from error
    if len(content) > largest:
        raise HedgerowError(f"{str(path)!r} is too large for {kind}; check the path.")
    return content


def read_text(path: Path, *, kind: str, largest: int) -> str:
    """The content of a UTF-8 text file, its line ends as '\\n'.

    Raises:
        HedgerowError: as `read_bytes`, or it is not UTF-8.
    """
    try:
        text = read_bytes(path, kind=kind, largest=largest).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HedgerowError(f"Expected UTF-8 text in {str(path)!r}; save it as UTF-8.") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")
