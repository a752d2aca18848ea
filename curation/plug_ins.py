"""Classes that other installed packages bring along, as entry points of a group of ours.

A group has a base class; a package names its own subclass in its ``pyproject.toml``::

    [project.entry-points."hedgerow.scorers"]
    my-reranker = "my_package.scoring:MyReranker"
"""

from __future__ import annotations

import inspect
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from curation.encoders.model_folders import first_line
from db.errors import HedgerowError

Kind = TypeVar("Kind")


def plug_in_names(group: str) -> tuple[str, ...]:
    """The names of a group's plug-ins, each once, in order; none of them is imported."""
    return tuple(sorted(entry_points(group=group).names))


def load_plug_in(group: str, name: str, base: type[Kind]) -> type[Kind]:
    """Import the class that a plug-in names.

    Raises:
        HedgerowError: there is no such plug-in, importing it fails, or it is no finished subclass
            of ``base``.
    """
    found = next(iter(entry_points(group=group, name=name)), None)
    if found is None:
        raise HedgerowError(
            f"The plug-in {name[:60]!r} ({group}) is not installed; install its package."
        )
    try:
        loaded = found.load()
    except Exception as error:  # a foreign package can fail in any way
        said = f"{type(error).__name__}: {first_line(error)}".rstrip(".")
        raise _refusal(found, f"can't be loaded ({said})") from error
    if not (inspect.isclass(loaded) and issubclass(loaded, base)):
        raise _refusal(found, f"is no subclass of {base.__name__}")
    if inspect.isabstract(loaded):
        lacking = ", ".join(sorted(getattr(loaded, "__abstractmethods__", ())))
        raise _refusal(found, f"does not define {lacking}")
    return loaded


def _refusal(found: EntryPoint, problem: str) -> HedgerowError:
    package = f" of the package {found.dist.name!r}" if found.dist else ""
    return HedgerowError(
        f"The plug-in {found.name!r}{package} {problem}; repair or uninstall its package."
    )
