"""Terminal output and error handling shared by all commands."""

import errno
import json
import math
import re
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from db import LARGEST_NUMBER as LARGEST_NUMBER
from db.errors import HedgerowError, NothingToDo, RunEnded
from hedgerow.progress import err, text_of

MAX_DIGITS = 9
"""Maximum digits of a number in a text, so that it is at most `LARGEST_NUMBER`."""

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what the command would do without doing it.")
]

ReleaseNumber = Annotated[
    int | None,
    typer.Option("--release", metavar="N", min=1, max=LARGEST_NUMBER, help="Default: the newest."),
]

RunId = Annotated[
    int, typer.Argument(metavar="ID", min=1, max=LARGEST_NUMBER, help="The run's number.")
]

UNBOUNDED = 1_000_000
"""Width in characters, wider than any table."""

out = Console(markup=False, emoji=False, highlight=False)


class Commands(TyperGroup):
    """The only place where an error becomes a sentence, a JSON object and an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse text that databases and terminals cannot handle, before doing anything."""
        ctx.meta[_AS_JSON] = "--json" in args
        with _errors_said(ctx):
            for argument in args:
                if not _is_text(argument):
                    raise typer.BadParameter(f"expected UTF-8 text, found {argument[:80]!r}", ctx)
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _errors_said(ctx):
            return super().invoke(ctx)


_AS_JSON = "hedgerow.as_json"

_NEGATIVE = re.compile(r"-[.\d]\S*")
_NEGATIVE_VALUE = (
    "No such option: {}. To pass a value that begins with '-', put '--' before the arguments."
)

INTERRUPTED = 130
"""The exit code of a command ended by Ctrl+C, as in shells."""


@contextmanager
def _errors_said(ctx: Any) -> Iterator[None]:
    """Report an error on standard error, and for scripts also on standard output."""
    as_json = ctx.meta[_AS_JSON]
    try:
        yield
    except NothingToDo as done:
        show({"message": str(done)}, as_json, str(done))
    except RunEnded as ended:
        show_json(ended.facts, as_json)
        _fail(str(ended))
    except HedgerowError as error:
        show_json({"error": str(error)}, as_json)
        _fail(str(error))
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader of our output has closed it
            raise
        where = f": {error.filename}" if error.filename else ""
        sentence = f"{error.strerror or error}{where}."
        show_json({"error": sentence}, as_json)
        _fail(sentence)
    except KeyboardInterrupt:
        show_json({"error": "Interrupted."}, as_json)
        _fail("Interrupted.", INTERRUPTED)
    except (typer.Exit, typer.Abort):
        raise
    except typer.BadParameter as error:
        wrong = WrongUsage(error)
        show_json({"error": wrong.message}, as_json)
        raise wrong from error
    except Exception as error:
        if in_words := getattr(error, "format_message", None):  # wrong usage, which Typer reports
            _explain_negative_value(error)
            show_json({"error": in_words()}, as_json)
            raise
        sentence = fault(error)
        show_json({"error": sentence}, as_json)
        _fail(sentence)


def _explain_negative_value(error: Any) -> None:
    """If a value such as -3 was read as an option, say how to pass it."""
    option = getattr(error, "option_name", "")
    if _NEGATIVE.fullmatch(option):
        error.message = _NEGATIVE_VALUE.format(option)


def _fail(sentence: str, code: int = 1) -> NoReturn:
    err.print(text_of(sentence), soft_wrap=True)
    raise typer.Exit(code)


def _is_text(argument: str) -> bool:
    """Whether the text is UTF-8: Python stores an invalid byte as a lone surrogate."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def show(result: dict[str, Any], as_json: bool, *lines: str | Table) -> None:
    """Print the result as one JSON object for scripts, or the lines for people."""
    show_json(result, as_json)
    if as_json:
        return
    console = out if sys.stdout.isatty() else _unbounded()
    for line in lines:
        text = text_of(line) if isinstance(line, str) else line
        console.print(text, soft_wrap=isinstance(line, str))


def _unbounded() -> Console:
    """A console for a pipe or a file, which does not wrap table cells."""
    return Console(markup=False, emoji=False, highlight=False, width=UNBOUNDED)


def show_json(result: dict[str, Any], as_json: bool) -> None:
    """Print the result as one JSON object if ``--json`` was given."""
    if as_json:
        typer.echo(json.dumps(_finite(result), allow_nan=False))


def _finite(value: Any) -> Any:
    """The value with None in place of numbers that JSON does not support."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# -- Messages for wrong usage, and for faults in the program itself --------------------------------


class WrongUsage(typer.BadParameter):
    """An argument error from Typer or pydantic as one plain line."""

    def __init__(self, error: typer.BadParameter) -> None:
        # Typer only loads pydantic to convert an argument; help does not need it.
        from pydantic import ValidationError  # noqa: PLC0415

        from curation.validation import complaint  # noqa: PLC0415

        if isinstance(cause := error.__cause__, ValidationError):
            error.message = f"{complaint(cause)}."
        super().__init__(" ".join(error.format_message().split()), error.ctx)

    def format_message(self) -> str:
        return self.message


def fault(error: Exception) -> str:
    """One sentence about a fault; the traceback is saved to a separate file for a bug report."""
    reason = str(error).strip().partition("\n")[0]
    what = f"{type(error).__name__}{f': {reason}' if reason else ''}"
    return f"Internal error in Hedgerow ({what}); {_kept(error)}."


def _kept(error: Exception) -> str:
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="hedgerow-fault-", suffix=".log", delete=False, encoding="utf-8"
        ) as file:
            file.writelines(traceback.format_exception(error))
        return f"please report it with the traceback in {file.name}"
    except (OSError, UnicodeError) as unwritten:
        return f"please report it (its traceback could not be saved: {unwritten})"


# -- Tables for people -----------------------------------------------------------------------------


NUMBERS = frozenset(
    {
        "run",
        "release",
        "loaded",
        "of",
        "variants",
        "rows",
        "line",
        "row",
        "before",
        "after",
        "measured on",
    }
)
"""Titles of columns with numbers, apart from the statuses."""


def table_of(*titles: str, rows: Iterable[Iterable[object]]) -> Table:
    """A table for people; each row has one cell per title."""
    from db.models import Status  # noqa: PLC0415  (every command has loaded it, '--help' has not)

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        is_number = title in NUMBERS.union(Status)
        justify: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(text_of(title), overflow="fold", justify=justify)
    for row in rows:
        table.add_row(*(text_of(str(cell)) for cell in row))
    return table
