"""Checking arguments from Python: one sentence instead of Python's own errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from db.errors import HedgerowError
from db.models import Split

if TYPE_CHECKING:
    from hedgerow.data.releases import Release


def split_of(name: str | None) -> Split | None:
    """The split of this name; None for all.

    Raises:
        HedgerowError: there is none.
    """
    if name is None:
        return None
    found = next((split for split in Split if split.value == name), None)
    if found is None:
        raise HedgerowError(f"Expected a split ({', '.join(Split)}), found {name!r}.")
    return found


def names(given: str | Iterable[str], *, what: str) -> tuple[str, ...]:
    """Several names, or a single one.

    Raises:
        HedgerowError: something else than text is among them.
    """
    found = (given,) if isinstance(given, str) else tuple(given)
    odd = next((name for name in found if not isinstance(name, str)), None)
    if odd is not None:
        raise HedgerowError(f"Expected {what} as texts, found {odd!r} among them.")
    return found


def uid(given: str) -> str:
    """A single uid.

    Raises:
        HedgerowError: it is something else, such as a list of them.
    """
    if not isinstance(given, str):
        raise HedgerowError(
            f"Expected one uid, a text, found {type(given).__name__}; give one at a time."
        )
    return given


def uids(given: Iterable[str]) -> tuple[str, ...]:
    """Several uids, each as a separate argument.

    Raises:
        HedgerowError: something else is among them, such as a list of them.
    """
    found = tuple(given)
    odd = next((one for one in found if not isinstance(one, str)), None)
    if odd is not None:
        raise HedgerowError(
            f"Expected uids, found {type(odd).__name__} among them; put * before a list of them."
        )
    return found


def release_number(release: Release | int | None) -> int | None:
    """The number of a release; None for the newest.

    Raises:
        HedgerowError: it is neither a release nor a number.
    """
    if release is None or isinstance(release, int):
        return release
    number = getattr(release, "number", None)
    if not isinstance(number, int):
        raise HedgerowError(f"Expected a release or its number, found {release!r}.")
    return number


def seed(given: int | None) -> int | None:
    """A seed; None for the usual one.

    Raises:
        HedgerowError: it is no whole number.
    """
    if given is not None and not isinstance(given, int):
        raise HedgerowError(f"Expected a seed, a whole number, found {given!r}.")
    return given


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Explain in one sentence why a file cannot be read.

    Raises:
        HedgerowError: it is missing, a folder, or not readable.
    """
    try:
        yield
    except OSError as error:
        raise HedgerowError(f"{path} cannot be read ({error.strerror or error}).") from error
