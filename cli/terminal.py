"""What the commands share: the terminal, and how errors end."""

import errno
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from db.errors import HedgerowError

LARGEST_NUMBER = 2**31 - 1
"""PostgreSQL's largest, of a run, a release, a version; a limit of more rows is none."""

MAX_DIGITS = 9
"""Of a number that is read out of a text; all such are at most `LARGEST_NUMBER` then."""

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

ReleaseNumber = Annotated[
    int | None,
    typer.Option("--release", metavar="N", min=1, max=LARGEST_NUMBER, help="Otherwise the newest."),
]

Report = Callable[[int, int, str], None]
"""Called with (steps done, steps in all, what is going on)."""

out = Console(markup=False, emoji=False, highlight=False)
err = Console(markup=False, emoji=False, highlight=False, stderr=True)


class Commands(TyperGroup):
    """The one place where an error becomes a sentence and an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse what no database and no terminal could take, before anything is done."""
        for argument in args:
            if not _is_text(argument):
                raise typer.BadParameter(f"expected UTF-8 text, found {argument[:80]!r}", ctx)
        return super().parse_args(ctx, args)

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


def _is_text(argument: str) -> bool:
    """Whether it is UTF-8: Python keeps a byte that is not as half a character."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def text_of(text: str) -> Text:
    """The text as it is, but for what nobody sees: it would steer the terminal or mislead."""
    return Text("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def show(result: dict[str, Any], as_json: bool, *lines: str | Table) -> None:
    """Print the result as one JSON object for scripts, or else the lines for people."""
    if as_json:
        typer.echo(json.dumps(result))
        return
    for line in lines:
        out.print(text_of(line) if isinstance(line, str) else line, soft_wrap=isinstance(line, str))


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
