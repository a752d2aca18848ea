"""Turns pydantic's errors into one sentence with familiar names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from db.errors import HedgerowError

FieldPath = tuple[int | str, ...]
"""The location of a value in a request: field names, and indexes of lists."""

Request = TypeVar("Request", bound=BaseModel)

_IN_WORDS = {
    "base_url": "server's address",
    "budget.money": "spending cap",
    "budget.calls": "cap on calls",
    "max_tokens": "token limit",
    "roles": "kind of variant",
    "selection.which": "choice of anchors",
    "selection.run": "earlier run",
    "selection.limit": "number of anchors",
    "name": "model",
}

_IN_PLAIN_WORDS = {
    "extra_forbidden": "unknown setting",
    "int_parsing": "it must be a whole number",
    "int_from_float": "it must be a whole number",
    "float_parsing": "it must be a number",
}
"""Our messages for some of pydantic's error types."""

_MAY_HOLD_SECRETS = ("base_url",)
"""Values that are never quoted, because an address can contain a password or a key."""


class Missing(ValueError):
    """A required field of a request is empty; raised by the request's own validators."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def in_words(place: FieldPath) -> str:
    """Return the name of a value on pages."""
    name = field_of(place)
    return "The " + _IN_WORDS.get(name, name.rpartition(".")[2].replace("_", " "))


def field_of(place: FieldPath) -> str:
    """Return the field, such as 'budget.money'; for an item of a list, the list."""
    return ".".join(part for part in place if isinstance(part, str))


def checked(
    kind: type[Request], values: Mapping[str, Any], *, called: Callable[[FieldPath], str] = in_words
) -> Request:
    """Return a request of this kind with these values.

    Args:
        called: returns the name that the user knows a value by.

    Raises:
        HedgerowError: one of the values is not valid.
    """
    try:
        return kind(**values)
    except ValidationError as error:
        raise HedgerowError(_sentence(error, called)) from error


def complaint(error: ValidationError) -> str:
    """Say what is wrong with the first invalid value: 'it must be a whole number'."""
    first = error.errors(include_url=False)[0]
    if message := _IN_PLAIN_WORDS.get(first["type"]):
        return message
    message = first["msg"].removeprefix("Value error, ").removesuffix(".")
    return f"it{message.removeprefix('Input')}" if message.startswith("Input ") else message


def _sentence(error: ValidationError, called: Callable[[FieldPath], str]) -> str:
    first = error.errors(include_url=False)[0]
    inner = first.get("ctx", {}).get("error")
    if isinstance(inner, ValidationError):
        return _sentence(inner, called)  # from a request that is created inside another
    if isinstance(inner, Missing):
        return f"{called((inner.field,))} is missing: {inner}."
    name = called(first["loc"]) if first["loc"] else "The request"
    shown = first["loc"] and field_of(first["loc"]) not in _MAY_HOLD_SECRETS
    found = f", found {first['input']!r:.80}" if shown else ""
    return f"{name} is not usable: {complaint(error)}{found}."
