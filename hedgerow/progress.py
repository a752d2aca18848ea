"""Progress bars for terminals and notebooks."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from db import Report as Report

WIDTH = 30
"""Width of a bar in a notebook, in characters."""

err = Console(markup=False, emoji=False, highlight=False, stderr=True)


def text_of(text: str) -> Text:
    """The text without invisible characters, which could control the terminal or mislead people."""
    return Text("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def is_watched() -> bool:
    """Whether a progress bar is visible here."""
    return err.is_terminal or err.is_jupyter


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Show a progress bar in a terminal or notebook; elsewhere, show nothing.

    The bar shows a percentage, because the message of a run may count something other than its
    steps: a training run evaluates after its last step. Library warnings are logged, not printed.
    """
    with quietly(), _notebook_bar() if err.is_jupyter else _terminal_bar() as report:
        yield report


@contextmanager
def _terminal_bar() -> Iterator[Report]:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("Starting.", total=None)

        def report(step: int, total: int, message: str) -> None:
            text = text_of(message).plain
            progress.update(task, description=text, completed=step, total=total or None)

        yield report


@contextmanager
def _notebook_bar() -> Iterator[Report]:
    """A plain-text bar in the cell's output, because the bar of rich needs ipywidgets."""
    display = import_module("IPython.display")
    shown = display.display(_plain(""), raw=True, display_id=True)
    last = ""

    def report(step: int, total: int, message: str) -> None:
        nonlocal last
        share = min(1.0, step / total) if total else 0.0
        full = round(WIDTH * share)
        bar = "━" * full + "─" * (WIDTH - full)
        text = f"{bar} {share:4.0%} {text_of(message).plain}"
        if text != last:
            shown.update(_plain(text), raw=True)
        last = text

    try:
        yield report
    finally:
        shown.update(_plain(""), raw=True)


def _plain(text: str) -> dict[str, str]:
    return {"text/plain": text}


# -- Logging library warnings instead of printing them in a notebook or terminal -------------------


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
