"""Files that a recipe names, stored in the data folder under the hash of their content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from db.errors import HedgerowError
from db.run_folders import make_folder

FOLDER = "recipe_files"


def keep_file(
    data_folder: Path, content: bytes, *, read: Callable[[Path], Sequence[object]]
) -> Path:
    """Store a file for a recipe. Identical files are stored once.

    Args:
        data_folder: the project's data folder.
        read: reads the file as training will, so that a wrong file is refused immediately.

    Returns:
        Its path, for a recipe on this machine.

    Raises:
        HedgerowError: the file can't be read in the expected format, or can't be stored; nothing is
            left behind.
    """
    folder = make_folder(data_folder / FOLDER)
    path = folder / f"{hashlib.sha256(content).hexdigest()[:32]}.txt"
    if path.exists():
        return path
    partial = path.with_suffix(".partial")
    try:
        partial.write_bytes(content)
        read(partial)
        partial.rename(path)
    except HedgerowError as error:  # it contains a path that the user did not choose
        raise HedgerowError(str(error).replace(repr(str(partial)), "the file")) from error
    except OSError as error:
        raise HedgerowError(f"The file could not be stored: {error.strerror}.") from error
    finally:
        partial.unlink(missing_ok=True)
    return path
