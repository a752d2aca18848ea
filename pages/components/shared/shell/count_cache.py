"""Counts over all variants, cached until the data changes.

In a small project, the page computes a count itself, again after every change. In a large project
this takes a second or two, so a background thread does it: the page is drawn at once with the old
count or a message, and again when the new count is ready. A count up to a minute old is good
enough there; otherwise a team's decisions would keep the machine counting all the time.
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
"""Maximum number of variants for counting in the page itself, which takes about 100 ms a count."""

FRESH_SECONDS = 60.0
"""How long an outdated count of a large project is good enough."""

KEPT = 100
"""Maximum number of cached counts; the least recently used is dropped first."""

REFRESH_SECONDS = 0.5

T = TypeVar("T")


class _Entry(NamedTuple):
    version: Hashable
    value: Any
    made_at: float


class CachedCounts:
    """The counts for one run of a page, all for the same state of the data.

    Attributes:
        empty: the project has no variants.
        waiting: a requested count is still being computed.
    """

    def __init__(self) -> None:
        self._store = _store()
        self._version, size = open_project.ask(data_state)
        self.empty = not size
        self._at_once = size <= AT_ONCE
        self.waiting = False

    def get(self, count: Callable[..., T], *args: Hashable, **kwargs: Hashable) -> T | None:
        """The result of ``count(session, *args, **kwargs)``; None while it is being computed."""
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
        """Redraw the page when the counts are ready. Call it last."""
        if self.waiting:
            _until_made("Counting …")


def made_in_background(key: Hashable, make: Callable[[], T]) -> T | None:
    """The result of ``make``, called once in a background thread; None until it is ready.

    Args:
        key: what the result depends on; its first part must be unique to the caller.
    """
    entry = _store().entry(key)
    if entry is None:
        _store().make_in_background(key, None, make)
        return None
    value: T = entry.value
    return value


def follow_making(message: str) -> None:
    """Redraw the page when the background thread is done.

    Args:
        message: shown until then.
    """
    _until_made(message)


def forget() -> None:
    """Clear all counts, because this session has changed the data."""
    _store().forget()


class _Store:
    """All counts of this server. One is computed at a time, so that pages stay fast."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._making: dict[Hashable, Future[Any]] = {}
        self._era = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="counts")

    def entry(self, key: Hashable) -> _Entry | None:
        """The cached entry, or None. Raises the error if computing it failed."""
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
        if era == self._era:  # otherwise the data may have changed since it started
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
def _until_made(message: str) -> None:
    if not _store().busy():
        st.rerun()
    st.caption(message)
