"""A process that is killed between two pieces of a large change."""

import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from db import engine as module
from db.engine import create_engine


def dies(engine: Engine, do: Callable[[Engine], object], *, after: int) -> None:
    """Do something in a fork that ends at once when it begins one more write session."""
    if pid := os.fork():
        assert os.waitpid(pid, 0)[1] == 9 << 8
        return
    real, left = module.writing, after

    @contextmanager
    def writing(engine: Engine) -> Iterator[Session]:
        nonlocal left
        if not left:
            os._exit(9)
        left -= 1
        with real(engine) as session:
            yield session

    try:
        setattr(module, "writing", writing)  # noqa: B010 (in this fork only)
        do(create_engine(engine.url))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def small_pieces(monkeypatch: Any, size: int = 3) -> None:
    """Write at most this many rows at once."""
    monkeypatch.setattr(module, "ROWS_AT_ONCE", size)
