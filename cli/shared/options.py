"""The options that fill a request to a model, and what they are called in messages."""

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from cli.shared.terminal import MAX_DIGITS
from curation.generation.request import MAX_CONCURRENCY
from curation.validation import FieldPath, field_of, in_words
from db.errors import HedgerowError

ModelName = Annotated[str, typer.Option(help="As the server calls it.")]

BaseUrl = Annotated[
    str, typer.Option(help="The server's address (otherwise HEDGEROW_OPENAI_BASE_URL).")
]

Concurrency = Annotated[int, typer.Option(min=1, max=MAX_CONCURRENCY, help="Calls at once.")]

MaxTokens = Annotated[int, typer.Option(min=16, max=32_000, help="Maximum tokens of one answer.")]

Timeout = Annotated[float, typer.Option(min=1, max=3600, help="Seconds for one answer.")]

MoneyCap = Annotated[float | None, typer.Option(metavar="USD", help="Pause when so much is spent.")]

CallCap = Annotated[int | None, typer.Option(min=1, help="Pause after so many calls.")]

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
        help="Version of a prompt, otherwise the newest; may be repeated.",
    ),
]


def prompt_numbers(items: Sequence[str] | None, *, example: str) -> dict[str, int]:
    """By prompt the number of its version, in options such as 'hedge=2'.

    Raises:
        HedgerowError: one looks otherwise.
    """
    found = {}
    for item in items or []:
        name, _, number = item.partition("=")
        if not number.isdecimal() or len(number) > MAX_DIGITS:
            raise HedgerowError(f"Expected --prompt {example} or the like, found {item[:80]}.")
        found[name] = int(number)
    return found


def one_of(names: Callable[[], Sequence[str]]) -> Callable[[str], str]:
    """A check of an option whose values depend on what is installed."""

    def checked(value: str) -> str:
        if value not in (there := names()):
            known = ", ".join(map(repr, there))
            raise typer.BadParameter(f"{value!r} is not one of {known}.")
        return value

    return checked


def as_cap(place: FieldPath) -> str:
    """The same for the values of a budget by itself."""
    return as_option(("budget", *place))


def as_option(place: FieldPath) -> str:
    """The option that a value of a request comes from, such as '--base-url'."""
    field = field_of(place)
    if field in ("selection", "budget"):  # several options together
        return in_words(place)
    return _OTHERWISE_CALLED.get(field, f"--{field.rpartition('.')[2].replace('_', '-')}")
