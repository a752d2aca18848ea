"""Options for requests to a model, and their names in messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer

from cli.terminal import MAX_DIGITS
from curation.generation.request import MAX_CONCURRENCY
from curation.validation import FieldPath, checked, field_of, in_words
from db.errors import HedgerowError
from db.settings import load_settings
from hedgerow.home import Home, home_of
from hedgerow.home import asked_by as asked_by
from hedgerow.home import reviewer_id as reviewer_id

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from curation.actions import Request
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


# -- The project of the working directory ----------------------------------------------------------


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


# -- Options made from the request of an action ----------------------------------------------------


def takes(request: type[Request], **options: Any) -> Callable[[Callable[..., None]], Any]:
    """Give a command an option for each field of a request, in the place of ``request``.

    The option has the field's name, type, default and bounds; its help is the field's docstring.

    Args:
        options: field → its type on the command line, annotated with a ``typer.Option`` that has
            another name or metavar; None for a field that the command fills in itself.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        made = {
            name: _option(name, field, options.get(name))
            for name, field in request.model_fields.items()
            if options.get(name, ...) is not None
        }

        @wraps(command)
        def filled_in(**values: Any) -> None:
            given = {name: values.pop(name) for name in made}
            given = {name: value for name, value in given.items() if value != made[name].default}
            command(request=checked(request, given, called=as_option), **values)

        parameters = list(own.values())
        at = list(own).index("request")
        parameters[at : at + 1] = made.values()
        parameters.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
        signature = inspect.Signature(parameters)
        filled_in.__signature__ = signature  # type: ignore[attr-defined]
        filled_in.__annotations__ = {
            name: parameter.annotation for name, parameter in signature.parameters.items()
        }
        return filled_in

    return decorate


def _option(name: str, field: FieldInfo, given: Any) -> inspect.Parameter:
    """The option for a field: a parameter as Typer reads it."""
    kind, *more = get_args(given) if get_origin(given) is Annotated else (given,)
    kind = kind or _on_the_command_line(field.annotation)
    option = copy(more[0]) if more else typer.Option()
    option.help = option.help or field.description
    for bound in field.metadata:
        option.min = getattr(bound, "ge", option.min)
        option.max = getattr(bound, "le", option.max)
    if kind is bool and not more:
        option.param_decls = (f"--{name.replace('_', '-')}",)  # without a form with --no
    default = field.get_default(call_default_factory=True)
    if field.is_required():
        default = inspect.Parameter.empty
    elif isinstance(default, tuple | Mapping):
        default = []
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=default,
        annotation=Annotated[kind, option],
    )


def _on_the_command_line(kind: Any) -> Any:
    """The type of an option for a field of this type."""
    kinds = get_args(kind)
    if bool in kinds:
        return bool
    return list[str] if get_origin(kind) in (tuple, frozenset) else kind
