"""What the commands share: the terminal, how errors end, and the working directory's project."""

import errno
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text
from sqlalchemy import Engine
from sqlmodel import Session
from typer.core import TyperGroup

from curation.project import open_project
from curation.reviewers import ensure_reviewer
from db.errors import HedgerowError
from db.models import Status
from db.settings import Settings, load_settings

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

Report = Callable[[int, int, str], None]
"""Called with (steps done, steps in all, what is going on)."""

NUMBERS = frozenset({"run", "release", "variants", "rows", "line", "row", *Status})
"""Titles of columns that hold numbers."""

out = Console(markup=False, emoji=False, highlight=False)
err = Console(markup=False, emoji=False, highlight=False, stderr=True)


class Commands(TyperGroup):
    """The one place where an error becomes a sentence and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except HedgerowError as error:
            sentence = str(error)
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader of our output has gone
                raise
            sentence = (
                f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}."
            )
        err.print(text_of(sentence), soft_wrap=True)
        raise typer.Exit(1)


def text_of(text: str) -> Text:
    """The text as it is, but for what nobody sees: it would steer the terminal or mislead."""
    return Text("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def table_of(*titles: str, rows: Iterable[Iterable[object]]) -> Table:
    """A table for people; each row has one cell for every title."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        justify: Literal["left", "right"] = "right" if title in NUMBERS else "left"
        table.add_column(text_of(title), overflow="fold", justify=justify)
    for row in rows:
        table.add_row(*(text_of(str(cell)) for cell in row))
    return table


def show(result: dict[str, Any], as_json: bool, *lines: str | Table) -> None:
    """Print the result as one JSON object for scripts, or else the lines for people."""
    if as_json:
        typer.echo(json.dumps(result))
        return
    for line in lines:
        out.print(text_of(line) if isinstance(line, str) else line, soft_wrap=isinstance(line, str))


def open_home(*, create: bool = False) -> tuple[Settings, Engine]:
    """The settings and the database, which must be there unless it may be created.

    Raises:
        HedgerowError: there is no project, or its database cannot be opened.
    """
    settings = load_settings()
    file = settings.url.database if settings.url.get_backend_name() == "sqlite" else None
    if file and not create and not Path(file).exists():
        raise HedgerowError(
            f"There is no project in {settings.home}; make one there with 'hedgerow init', or name "
            "its folder with HEDGEROW_HOME."
        )
    return settings, open_project(settings)


def reviewer_id(session: Session, settings: Settings, name: str) -> int:
    """The id of the reviewer with this name, who is added if new; "" takes the settings' name.

    Raises:
        HedgerowError: the name is missing, too long, or a model's.
    """
    return ensure_reviewer(session, name or settings.reviewer).id or 0


@contextmanager
def progress_bar() -> Iterator[Report]:
    """A progress bar where somebody is watching; elsewhere what is reported is not shown."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("Starting.", total=None)

        def report(step: int, total: int, message: str) -> None:
            text = text_of(message).plain
            progress.update(task, description=text, completed=step, total=total or None)

        yield report
