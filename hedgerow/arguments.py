"""Checks of Python arguments. Each error is one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from curation.actions import Request
from curation.validation import checked, field_of
from db.errors import HedgerowError
from db.models import Split

if TYPE_CHECKING:
    from hedgerow.releases import Release

Fields = TypeVar("Fields", bound=Request)


def split_of(name: str | None) -> Split | None:
    """The split with this name, or None for all splits.

    Raises:
        HedgerowError: no split has this name.
    """
    if name is None:
        return None
    found = next((split for split in Split if split.value == name), None)
    if found is None:
        raise HedgerowError(f"Expected a split ({', '.join(Split)}), found {name!r}.")
    return found


def names(given: str | Iterable[str], *, what: str) -> tuple[str, ...]:
    """One or more names, as a tuple.

    Raises:
        HedgerowError: a name is not a string.
    """
    found = (given,) if isinstance(given, str) else tuple(given)
    odd = next((name for name in found if not isinstance(name, str)), None)
    if odd is not None:
        raise HedgerowError(f"Expected {what} to be strings, found {odd!r}.")
    return found


def uid(given: str) -> str:
    """One uid.

    Raises:
        HedgerowError: the argument is not a string (for example, it is a list of uids).
    """
    if not isinstance(given, str):
        raise HedgerowError(
            f"Expected one uid as a string, found {type(given).__name__}; pass one uid at a time."
        )
    return given


def uids(given: Iterable[str]) -> tuple[str, ...]:
    """Several uids, as a tuple.

    Args:
        given: the positional arguments of a method such as ``retire(*uids)``.

    Raises:
        HedgerowError: an argument is not a string (for example, it is a list of uids).
    """
    found = tuple(given)
    odd = next((one for one in found if not isinstance(one, str)), None)
    if odd is not None:
        raise HedgerowError(
            f"Expected uids as strings, found {type(odd).__name__}; unpack a list of uids with *."
        )
    return found


def release_number(release: Release | int | None) -> int | None:
    """The number of a release, or None for the newest release.

    Raises:
        HedgerowError: the argument is neither a release nor a number.
    """
    if release is None or isinstance(release, int):
        return release
    number = getattr(release, "number", None)
    if not isinstance(number, int):
        raise HedgerowError(f"Expected a release or its number, found {release!r}.")
    return number


def seed(given: int | None) -> int | None:
    """A seed, or None for the default seed.

    Raises:
        HedgerowError: the seed is not a whole number.
    """
    if given is not None and not isinstance(given, int):
        raise HedgerowError(f"Expected a whole number as the seed, found {given!r}.")
    return given


def request(kind: type[Fields], given: Mapping[str, Any]) -> Fields:
    """The request of an action, from the arguments of a method that have its fields' names.

    None stands for a field's default.

    Raises:
        HedgerowError: a value is not valid.
    """
    fields = {
        name: value
        for name, value in given.items()
        if name in kind.model_fields and value is not None
    }
    return checked(kind, fields, called=field_of)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raise a one-sentence error if a file cannot be read.

    Raises:
        HedgerowError: the file is missing, is a folder, or is not readable.
    """
    try:
        yield
    except OSError as error:
        raise HedgerowError(f"{path} cannot be read ({error.strerror or error}).") from error
