"""Whose turn it is, of those on one machine that wait for the same lock.

A lock goes to whoever asks at the right moment. Here each who waits holds a file of its own beside
it, named after the moment since which it has waited; the system frees those of the dead.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

EVERYBODYS = 0o666
"""Mode of the files: trainings of all users of a machine take turns."""


@contextmanager
def in_line(lock: Path, since: datetime) -> Iterator[Callable[[float], bool]]:
    """Stand in the line before a lock.

    Gives a function that tells whether nobody who has waited longer is there; if somebody is, it
    first waits for so many seconds. Where no file can be made beside the lock there is no line,
    and everybody is always next.
    """
    prefix = f"{lock.name}.turn-"
    own = lock.with_name(f"{prefix}{since.timestamp():020.6f}-{uuid.uuid4().hex[:8]}")
    ticket = FileLock(own, mode=EVERYBODYS)
    try:
        ticket.acquire(timeout=1.0)
    except (Timeout, OSError, NotImplementedError):
        yield lambda seconds: True
        return

    def is_next(seconds: float) -> bool:
        if any(map(_is_held, _earlier(own, prefix))):
            time.sleep(seconds)
            return False
        return True

    try:
        yield is_next
    finally:
        with suppress(OSError):  # first, so that nobody finds the lock free but not yet deleted
            own.unlink(missing_ok=True)
        ticket.release()


def _earlier(own: Path, prefix: str) -> list[Path]:
    """The files of those who have waited longer."""
    try:
        return [
            path for path in own.parent.iterdir() if path.name.startswith(prefix) and path < own
        ]
    except OSError:
        return []


def _is_held(path: Path) -> bool:
    """Whether who made the file still waits; a dead one's is removed."""
    probe = FileLock(path, mode=EVERYBODYS, timeout=0)
    try:
        with probe:
            path.unlink(missing_ok=True)
    except Timeout:
        return True
    except (OSError, NotImplementedError):  # owned by another user without access for others
        return False
    return False
