"""The files that a recipe names: stored, hashed when a run is requested, checked when it starts."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from curation.encoders.model_folders import BUILT_IN
from db.errors import HedgerowError
from db.named_files import expanded, resolved, sha256_of
from db.run_process import make_folder
from training.evaluation.general_ability import read_sts
from training.recipe.schema import Recipe
from training.retention.texts import read_sentences

# -- Files that a recipe names, stored in the data folder under the hash of their content ---------


RECIPE_FILES = "recipe_files"


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
    folder = make_folder(data_folder / RECIPE_FILES)
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


# -- The files of a recipe: hashed when a run is requested, and checked when it starts ------------
#
# A user's recipe may have relative paths. A stored recipe has full paths, except that old ones have
# paths relative to the working directory.


READERS: dict[str, Callable[[Path], Sequence[object]]] = {
    "retention_file": read_sentences,
    "sts_file": read_sts,
}
"""The functions that read the files in the recipe's fields."""


def with_full_paths(recipe: Recipe) -> Recipe:
    """The recipe with full paths. Relative paths refer to the current directory.

    Raises:
        HedgerowError: a path begins with a user's folder that does not exist.
    """
    paths = {field: str(path) for field, path in _paths(recipe, Path.cwd()).items()}
    base = expanded(recipe.base_encoder)
    if recipe.base_encoder not in BUILT_IN and os.path.isdir(base):  # otherwise a name on the hub
        paths["base_encoder"] = str(resolved(base))
    return recipe.model_copy(update=paths)


def input_hashes(recipe: Recipe, *, home: Path) -> dict[str, str]:
    """SHA-256 (64 hex digits) of each file's content, by the field that names it.

    Raises:
        HedgerowError: a file cannot be read in its expected format.
    """
    paths = _paths(recipe, home)
    for field, path in paths.items():
        READERS[field](path)
    return {field: _sha256(path) for field, path in paths.items()}


def located(recipe: Recipe, *, home: Path, expected: Mapping[str, str]) -> Recipe:
    """The recipe with full paths to its files.

    Args:
        expected: the hashes of the files at the time of the request; a file without a hash is not
            checked.

    Raises:
        HedgerowError: a file is missing, or has changed since the request.
    """
    paths = _paths(recipe, home)
    for field, path in paths.items():
        if expected.get(field, _sha256(path)) != _sha256(path):
            raise HedgerowError(
                f"The file {str(path)!r} has changed since this run was requested; restore the "
                "old file, or start another run."
            )
    return recipe.model_copy(update={field: str(path) for field, path in paths.items()})


def content_hashes(recipe: Recipe) -> dict[str, str]:
    """The recipe's values and the hashes of its files, which do not depend on their location."""
    bare = recipe.model_copy(update=dict.fromkeys(READERS))
    paths = _paths(recipe, Path())
    return {"recipe": bare.hash} | {field: _sha256(path) for field, path in paths.items()}


def _paths(recipe: Recipe, home: Path) -> dict[str, Path]:
    named = {field: getattr(recipe, field) for field in READERS}
    return {field: home / expanded(name) for field, name in named.items() if name}


def _sha256(path: Path) -> str:
    try:
        return sha256_of(path)
    except OSError as error:
        raise HedgerowError(f"Could not read {str(path)!r}: {error.strerror}.") from error
