"""Plug-ins: classes that other packages provide as entry points of Hedgerow's groups.

A group has a base class; a package names its own subclass in its ``pyproject.toml``::

    [project.entry-points."hedgerow.scorers"]
    my-reranker = "my_package.scoring:MyReranker"

docs/plug_ins.md has an example of each group. The names of plug-ins come from the packages'
metadata; a package is imported only when one of its plug-ins is used or checked.
"""

from __future__ import annotations

import inspect
import logging
import re
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, NamedTuple, TypeVar

from db.errors import HedgerowError, RunCancelled, first_line

Kind = TypeVar("Kind")

LONGEST_NAME = 40
"""The maximum length of a plug-in's name that fits into the database, in characters."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

logger = logging.getLogger(__name__)


class PlugIns(NamedTuple, Generic[Kind]):
    """All plug-ins that can be loaded, and a sentence about each one that can't."""

    classes: dict[str, type[Kind]]
    problems: list[str]


class ListedPlugIn(NamedTuple):
    """An installed plug-in.

    Attributes:
        kind: what it is, such as 'scorer'.
        package, version: the package that provides it; '' if unknown.
        problem: why it can't be used, in a sentence; '' if it can.
    """

    kind: str
    name: str
    package: str
    version: str
    problem: str


@dataclass(frozen=True)
class PlugInGroup(Generic[Kind]):
    """The plug-ins of one kind.

    Attributes:
        name: the group of the entry points.
        base: the class that each must be a subclass of.
        noun: the kind's name for messages.
        reserved: names that no plug-in can have.
        called: the class attribute that gets the entry point's name; '' for none.
        attributes: class attributes that a plug-in must have, and their types.
        methods: methods whose errors are turned into one sentence.
    """

    name: str
    base: type[Kind]
    noun: str
    reserved: Collection[str] = ()
    called: str = ""
    attributes: Mapping[str, type | tuple[type, ...]] = field(default_factory=dict)
    methods: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        """Return the sorted names of the plug-ins without duplicates. No plug-in is imported."""
        found = {entry.name for entry in _entry_points(self.name)}
        return tuple(sorted(found.difference(self.reserved)))

    def load(self, name: str) -> type[Kind]:
        """Import the class of a plug-in.

        An error in one of `methods` becomes one sentence that names the plug-in. Iterators that
        they return are read to the end.

        Raises:
            HedgerowError: there is no such plug-in, its name can't be used, importing it fails, or
                it is not a complete subclass of the base.
        """
        found = next((entry for entry in _entry_points(self.name) if entry.name == name), None)
        if found is None or name in self.reserved:
            raise HedgerowError(
                f"The plug-in {name[:60]!r} ({self.name}) is not installed; install its package."
            )
        return self._load(found)

    def load_all(self) -> PlugIns[Kind]:
        """Import all plug-ins."""
        found: PlugIns[Kind] = PlugIns({}, [])
        for name in self.names():
            try:
                found.classes[name] = self.load(name)
            except HedgerowError as error:
                found.problems.append(str(error))
        return found

    def listed(self) -> list[ListedPlugIn]:
        """Return every entry point of the group, by name. Imports them to find their problems."""
        seen: set[str] = set()
        found = []
        for entry in sorted(_entry_points(self.name), key=lambda entry: entry.name):
            problem = self._problem(entry, seen)
            seen.add(entry.name)
            package, version = _package(entry)
            found.append(ListedPlugIn(self.noun, entry.name, package, version, problem))
        return found

    def package_of(self, name: str) -> tuple[str, str]:
        """Return the package that provides a plug-in, and its version; '' if unknown."""
        entries = (entry for entry in _entry_points(self.name) if entry.name == name)
        return next(map(_package, entries), ("", ""))

    def _problem(self, entry: EntryPoint, seen: Collection[str]) -> str:
        if entry.name in self.reserved:
            return f"The name {entry.name!r} is Hedgerow's own; rename the entry point."
        if entry.name in seen:
            return f"Another package has a {self.noun} of this name; rename the entry point."
        try:
            self._load(entry)
        except HedgerowError as error:
            return str(error)
        return ""

    def _load(self, found: EntryPoint) -> type[Kind]:
        if len(found.name) > LONGEST_NAME or not _NAME.fullmatch(found.name):
            raise HedgerowError(
                f"Expected at most {LONGEST_NAME} characters as the name of a {self.noun}, "
                f"letters, digits, '.', '_' and '-', found the plug-in {found.name[:60]!r}; rename "
                "its entry point."
            )
        try:
            loaded = found.load()
        except (Exception, SystemExit) as error:  # a third-party package can fail in any way
            raise _refusal(found, f"cannot be loaded ({_described(error)})") from error
        if not (inspect.isclass(loaded) and issubclass(loaded, self.base)):
            raise _refusal(found, f"is not a subclass of {self.base.__name__}")
        if inspect.isabstract(loaded):
            lacking = ", ".join(sorted(getattr(loaded, "__abstractmethods__", ())))
            raise _refusal(found, f"does not define {lacking}")
        for attribute, kind in self.attributes.items():
            if not isinstance(getattr(loaded, attribute, None), kind):
                kinds = kind if isinstance(kind, tuple) else (kind,)
                named = " or ".join(one.__name__ for one in kinds)
                raise _refusal(found, f"does not define {attribute} as {named}")
        class_: Any = loaded
        guarded: type[Kind] = _guarded(class_, found.name, self.called, self.methods)
        return guarded


@contextmanager
def failures_of(name: str) -> Iterator[None]:
    """Turn any error in a plug-in into one sentence that names the plug-in.

    Raises:
        HedgerowError: there was an error.
    """
    try:
        yield
    except (HedgerowError, RunCancelled):
        raise
    except (Exception, SystemExit) as error:  # a third-party package can fail in any way
        logger.error("the plug-in %s failed", name, exc_info=error)
        raise HedgerowError(
            f"The plug-in {name!r} failed ({_described(error)}); repair or uninstall its package."
        ) from error


def _entry_points(group: str) -> tuple[EntryPoint, ...]:
    return tuple(_entry_points_on(tuple(sys.path)).select(group=group))


@lru_cache(maxsize=8)  # scanning all packages takes 30 ms; installing one requires a restart
def _entry_points_on(path: tuple[str, ...]) -> Any:  # its type differs from Python 3.12 on
    return entry_points()


def _package(entry: EntryPoint) -> tuple[str, str]:
    found = entry.dist.metadata.json if entry.dist else {}
    return str(found.get("name") or ""), str(found.get("version") or "")


def _refusal(found: EntryPoint, problem: str) -> HedgerowError:
    name, _ = _package(found)
    package = f" of the package {name!r}" if name else ""
    return HedgerowError(
        f"The plug-in {found.name!r}{package} {problem}; repair or uninstall its package."
    )


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {first_line(error)}".rstrip(".")


@lru_cache(maxsize=256)
def _guarded(kind: Any, name: str, called: str, methods: tuple[str, ...]) -> Any:
    """Return a subclass with the plug-in's name whose methods turn errors into one sentence."""
    members: dict[str, Any] = {"__module__": kind.__module__, "__doc__": kind.__doc__}
    for method in methods:
        found = inspect.getattr_static(kind, method)
        is_of_class = isinstance(found, classmethod)
        function = _guarding(found.__func__ if is_of_class else found, name)
        members[method] = classmethod(function) if is_of_class else function
    if called:
        members[called] = name
    return types.new_class(kind.__name__, (kind,), exec_body=lambda space: space.update(members))


def _guarding(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(function)
    def guarded(*arguments: Any, **named: Any) -> Any:
        with failures_of(name):
            found = function(*arguments, **named)
            return list(found) if isinstance(found, Iterator) else found

    return guarded
