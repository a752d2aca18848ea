"""Counts over all variants, kept until the data changes.

In a small project a count is made in the page's run, and again as soon as anything has changed. In
a large one it takes a second or two: it is made by a thread beside the page, which is drawn at
once, says that it is counting, and draws itself again when the count is there. An outdated count
is shown meanwhile, and for a minute it counts as fresh: otherwise the decisions of a team would
keep the machine counting.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import streamlit as st

from curation.diagnostics.distributions import data_state
from pages.components.shared.shell import error_messages, open_project

AT_ONCE = 60_000
"""Variants up to which counts are made in the page's run: about 100 ms each."""

FRESH_SECONDS = 60.0
"""For how long an outdated count of a large project is good enough."""

KEPT = 100
"""Counts kept; the one that was looked at longest ago goes first."""

REFRESH_SECONDS = 0.5

T = TypeVar("T")


class _Entry(NamedTuple):
    version: Hashable
    value: Any
    made_at: float


class CachedCounts:
    """The counts of one page run: asked for one by one, all of the same state of the data.

    Attributes:
        empty: whether the project has no variant at all.
        waiting: whether something asked for is still being counted.
    """

    def __init__(self) -> None:
        self._store = _store()
        self._version, size = open_project.ask(data_state)
        self.empty = not size
        self._at_once = size <= AT_ONCE
        self.waiting = False

    def get(self, count: Callable[..., T], *args: Hashable, **kwargs: Hashable) -> T | None:
        """What ``count(session, *args, **kwargs)`` gives; None while that is being found out."""
        key = (count.__module__, count.__qualname__, args, tuple(sorted(kwargs.items())))

        def make() -> T:
            return open_project.ask(count, *args, **kwargs)

        entry = self._store.entry(key)
        if entry is not None and self._good(entry):
            return entry.value
        if self._at_once:
            return self._store.keep(key, self._version, make())
        self._store.make_in_background(key, self._version, make)
        self.waiting = True
        return None if entry is None else entry.value

    def _good(self, entry: _Entry) -> bool:
        recent = time.monotonic() - entry.made_at < FRESH_SECONDS
        return entry.version == self._version or (recent and not self._at_once)

    def follow(self) -> None:
        """Draw the page again when what is being counted is there; call it last."""
        if self.waiting:
            _until_made("Counting …")


def made_in_background(key: Hashable, make: Callable[[], T]) -> T | None:
    """What ``make`` gives, made once by the thread beside the pages; None while it is at it.

    Args:
        key: what it depends on; never the first of another one's.
    """
    entry = _store().entry(key)
    if entry is None:
        _store().make_in_background(key, None, make)
        return None
    value: T = entry.value
    return value


def follow_making(said: str) -> None:
    """Draw the page again when the thread beside it has made what was asked for.

    Args:
        said: stands there meanwhile.
    """
    _until_made(said)


def forget() -> None:
    """Count everything anew: this session has changed the data."""
    _store().forget()


class _Store:
    """All counts of this server, and those being made: one at a time, so that pages stay quick."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._making: dict[Hashable, Future[Any]] = {}
        self._era = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="counts")

    def entry(self, key: Hashable) -> _Entry | None:
        """What is kept; raises what went wrong where making it failed."""
        with self._lock:
            making = self._making.get(key)
            if making is not None and making.done():
                del self._making[key]
                making.result()
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def keep(self, key: Hashable, version: Hashable, value: T) -> T:
        with self._lock:
            self._entries[key] = _Entry(version, value, time.monotonic())
            self._entries.move_to_end(key)
            while len(self._entries) > KEPT:
                self._entries.popitem(last=False)
        return value

    def make_in_background(self, key: Hashable, version: Hashable, make: Callable[[], Any]) -> None:
        with self._lock:
            if key not in self._making:
                self._making[key] = self._thread.submit(self._make, key, version, make, self._era)

    def _make(self, key: Hashable, version: Hashable, make: Callable[[], Any], era: int) -> None:
        value = make()
        if era == self._era:  # else it may be of before what made all be forgotten
            self.keep(key, version, value)

    def busy(self) -> bool:
        with self._lock:
            return any(not making.done() for making in self._making.values())

    def forget(self) -> None:
        with self._lock:
            self._era += 1
            self._entries.clear()
            self._making.clear()


@st.cache_resource(show_spinner=False)
def _store() -> _Store:
    return _Store()


@error_messages.fragment(run_every=REFRESH_SECONDS)
def _until_made(said: str) -> None:
    if not _store().busy():
        st.rerun()
    st.caption(said)
