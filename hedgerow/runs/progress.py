"""Progress bars: in terminals and notebooks, none in pipes and logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

Report = Callable[[int, int, str], None]
"""Called with (steps done, steps in all, what is going on)."""

WIDTH = 30
"""Characters of a bar in a notebook."""

err = Console(markup=False, emoji=False, highlight=False, stderr=True)


def text_of(text: str) -> Text:
    """The text as it is, but for what nobody sees: it would steer the terminal or mislead."""
    return Text("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def is_watched() -> bool:
    """Whether somebody sees a progress bar here."""
    return err.is_terminal or err.is_jupyter


@contextmanager
def progress_bar() -> Iterator[Report]:
    """A progress bar where somebody is watching; elsewhere what is reported is not shown.

    It shows a share, since the steps of a run are not always what its message counts: a training
    takes its steps first, and then measures.
    """
    if err.is_jupyter:
        with _notebook_bar() as report:
            yield report
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("Starting.", total=None)

        def report(step: int, total: int, message: str) -> None:
            text = text_of(message).plain
            progress.update(task, description=text, completed=step, total=total or None)

        yield report


@contextmanager
def _notebook_bar() -> Iterator[Report]:
    """A bar of plain text in the cell's output; rich's own needs ipywidgets."""
    display = import_module("IPython.display")
    shown = display.display(_plain(""), raw=True, display_id=True)

    def report(step: int, total: int, message: str) -> None:
        share = min(1.0, step / total) if total else 0.0
        full = round(WIDTH * share)
        bar = "━" * full + "─" * (WIDTH - full)
        shown.update(_plain(f"{bar} {share:4.0%} {text_of(message).plain}"), raw=True)

    yield report
    shown.update(_plain(""), raw=True)


def _plain(text: str) -> dict[str, str]:
    return {"text/plain": text}
