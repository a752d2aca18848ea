"""Logging library warnings instead of printing them in a notebook or terminal."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

logger = logging.getLogger(__name__)


@contextmanager
def quietly() -> Iterator[None]:
    """Log warnings, and do not print the log.

    Each run has its own log. If you have configured logging, you see the warnings there. A filter
    that turns warnings into errors still applies.
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
