"""Options for requests to a model, and their names in messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cli.terminal import MAX_DIGITS
from curation.generation.request import MAX_CONCURRENCY
from curation.validation import FieldPath, field_of, in_words
from db.errors import HedgerowError
from db.settings import load_settings
from hedgerow.home import Home, home_of
from hedgerow.home import asked_by as asked_by
from hedgerow.home import reviewer_id as reviewer_id

if TYPE_CHECKING:
    from hedgerow.project import Project


ModelName = Annotated[str, typer.Option(help="The model's name on the server.")]

BaseUrl = Annotated[
    str, typer.Option(help="The server's address (default: HEDGEROW_OPENAI_BASE_URL).")
]

Concurrency = Annotated[
    int, typer.Option(min=1, max=MAX_CONCURRENCY, help="Number of concurrent calls.")
]

MaxTokens = Annotated[int, typer.Option(min=16, max=32_000, help="Maximum tokens per answer.")]

Timeout = Annotated[float, typer.Option(min=1, max=3600, help="Timeout per answer, in seconds.")]

MoneyCap = Annotated[
    float | None, typer.Option(metavar="USD", help="Pause when this amount has been spent.")
]

CallCap = Annotated[int | None, typer.Option(min=1, help="Pause after this many calls.")]

_OTHERWISE_CALLED = {
    "budget.money": "--budget",
    "budget.calls": "--max-calls",
    "name": "--model",
}


PromptNumbers = Annotated[
    list[str] | None,
    typer.Option(
        "--prompt",
        metavar="NAME=N",
        help="Version of a prompt (default: the newest). Can be repeated.",
    ),
]


def prompt_numbers(items: Sequence[str] | None, *, example: str) -> dict[str, int]:
    """Prompt name → version number, from options such as 'hedge=2'.

    Raises:
        HedgerowError: an option has another form.
    """
    found = {}
    for item in items or []:
        name, _, number = item.partition("=")
        if not number.isdecimal() or len(number) > MAX_DIGITS:
            raise HedgerowError(f"Expected --prompt {example} or the like, found {item[:80]}.")
        found[name] = int(number)
    return found


def one_of(names: Callable[[], Sequence[str]]) -> Callable[[str], str]:
    """A check for an option whose values depend on the installed packages."""

    def checked(value: str) -> str:
        if value not in (there := names()):
            known = ", ".join(map(repr, there))
            raise typer.BadParameter(f"{value!r} is not one of {known}.")
        return value

    return checked


def as_cap(place: FieldPath) -> str:
    """The cap's name in messages, if only caps are given."""
    return as_option(("budget", *place))


def as_option(place: FieldPath) -> str:
    """The option for a field of a request, such as '--base-url'."""
    field = field_of(place)
    if field in (
        "selection",
        "budget",
    ):  # a single option's name would be wrong, since several set it together
        return in_words(place)
    return _OTHERWISE_CALLED.get(field, f"--{field.rpartition('.')[2].replace('_', '-')}")


# -- The project of the working directory ---------------------------------------------------------


def open_home(*, create: bool = False) -> Home:
    """Return the settings and the database, which must exist unless it may be created.

    Raises:
        HedgerowError: there is no project, or its database cannot be opened.
    """
    return home_of(load_settings(), create=create)


def this_project() -> Project:
    """The project of the working directory as a Python object.

    Raises:
        HedgerowError: as in `open_home`.
    """
    from hedgerow.project import Project  # noqa: PLC0415  (keeps other commands fast)

    return Project(open_home())
