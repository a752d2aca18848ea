"""Text files that people name: a recipe, what it names, the data of a benchmark."""

from __future__ import annotations

from pathlib import Path

from db.errors import HedgerowError


def read_text(path: Path, *, kind: str, largest: int) -> str:
    """The content of a UTF-8 text file.

    Args:
        kind: what it should be, with its article: 'a recipe'.
        largest: bytes; a larger file is something else.

    Raises:
        HedgerowError: it is larger, can't be read, or is not UTF-8.
    """
    try:
        if path.stat().st_size > largest:
            raise HedgerowError(f"{str(path)!r} is too large for {kind}; check the path.")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise HedgerowError(f"Could not read {str(path)!r}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise HedgerowError(f"Expected UTF-8 text in {str(path)!r}; save it as UTF-8.") from error
