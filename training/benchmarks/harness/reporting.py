"""The harness's progress bars and messages, passed on to a run instead of the terminal."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from importlib import import_module
from typing import Any
from unittest.mock import patch

Progress = Callable[[int, int], None]
"""Called with (requests done, total requests). May raise to cancel."""

MODULES = ("lm_eval.api.model", "lm_eval.api.task", "lm_eval.models.huggingface")
"""The modules whose ``tqdm`` is replaced."""


@contextmanager
def reported(on_progress: Progress) -> Iterator[None]:
    """A context that reports every prompt that is built and every request that is answered."""

    def bar(items: Iterable[Any] | None = None, *, total: int = 0, **_: Any) -> _Bar:
        return _Bar(items, total, on_progress)

    logger = logging.getLogger("lm_eval")
    level = logger.level
    with ExitStack() as stack:
        logger.setLevel(logging.ERROR)  # it prints one line per subject of MMLU
        stack.callback(logger.setLevel, level)
        for name in MODULES:
            stack.enter_context(patch.object(import_module(name), "tqdm", bar))
        stack.enter_context(redirect_stdout(io.StringIO()))
        yield


class _Bar:
    """Replaces tqdm's class and counts requests. Iterated items are prompts, which take no time."""

    def __init__(self, items: Iterable[Any] | None, total: int, on_progress: Progress) -> None:
        self._items, self._total, self._report = items, total, on_progress
        self._done = 0

    def __iter__(self) -> Iterator[Any]:
        for item in self._items or ():
            self._report(0, 1)
            yield item

    def update(self, number: int = 1) -> None:
        self._done += number
        self._report(self._done, self._total)

    def close(self) -> None:
        """Does nothing."""
