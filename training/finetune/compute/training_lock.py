"""The order of processes on one machine that wait for the same lock.

A plain lock goes to whichever process asks at the right moment. Here, each waiting process also
holds a lock on its own file next to it, named after the time when it started to wait. The system
releases the files of processes that died.
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
"""File mode. Training runs of all users of a machine take turns."""


@contextmanager
def in_line(lock: Path, since: datetime) -> Iterator[Callable[[float], bool]]:
    """Join the queue for a lock.

    Yields a function that returns whether this process is next. If it is not, the function first
    waits for the given number of seconds. If no file can be created next to the lock, there is no
    queue, and every process is always next.
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
    """The files of the processes that have waited longer."""
    try:
        return [
            path for path in own.parent.iterdir() if path.name.startswith(prefix) and path < own
        ]
    except OSError:
        return []


def _is_held(path: Path) -> bool:
    """Whether the process that created the file is still waiting. The file of a dead process is
    removed."""
    probe = FileLock(path, mode=EVERYBODYS, timeout=0)
    try:
        with probe:
            path.unlink(missing_ok=True)
    except Timeout:
        return True
    except (OSError, NotImplementedError):  # owned by another user without access for others
        return False
    return False
