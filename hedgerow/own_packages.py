"""Checking that Hedgerow's own packages are imported, not a folder or file of the same name.

`curation`, `db`, `pages`, `training` and `cli` are top-level packages with common names. A folder
that comes earlier in Python's path, such as a script's own, can hide them.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

_HOME = Path(__file__).resolve().parents[1]


class ShadowedPackageError(ImportError):
    """A folder or file hides one of Hedgerow's packages."""


def require_own_packages(*names: str) -> None:
    """Check where Python finds these packages, without importing them.

    Raises:
        ShadowedPackageError: one is found elsewhere; it names the place, and says what to do.
    """
    for name in names:
        loaded = sys.modules.get(name)
        spec = loaded.__spec__ if loaded else find_spec(name)
        places = _places(spec)
        if _HOME / name not in places:
            found = str(places[0]) if places else "nothing"
            raise ShadowedPackageError(
                f"Expected Hedgerow's package '{name}' in {_HOME}, found {found}; rename that, or "
                "work in another folder.",
                name=name,
            )


def _places(spec: ModuleSpec | None) -> list[Path]:
    """The folders of a package, or the file of a module."""
    if spec is None:
        return []
    found = list(spec.submodule_search_locations or ()) or [spec.origin or ""]
    return [Path(place).resolve() for place in found if place]
