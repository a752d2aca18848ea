"""Sending libraries' warnings to the log of a run instead of a cell or the terminal."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

logger = logging.getLogger(__name__)


@contextmanager
def quietly() -> Iterator[None]:
    """A context in which warnings are logged and the log is not printed.

    A run keeps a log of its own. Whoever has set up logging sees the warnings there, and those that
    `warnings` turns into errors are errors.
    """
    root, unseen = logging.getLogger(), logging.NullHandler()
    root.addHandler(unseen)  # with no handler at all, Python would print them
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _log
            yield
    finally:
        root.removeHandler(unseen)


def _log(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    logger.warning("%s", warnings.formatwarning(message, category, filename, lineno, line).strip())
