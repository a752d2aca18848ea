"""Pauses the garbage collector while hundreds of thousands of rows are created at once."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector from repeatedly scanning all new objects.

    Rows contain no cycles, so it would find nothing, and reference counting still frees unused
    rows. With the collector on, importing 50,000 anchors takes a fifth more CPU time (2.7 s instead
    of 2.3 s).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
