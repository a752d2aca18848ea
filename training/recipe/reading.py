"""Reading recipes: from YAML files or text, and from stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from db.errors import HedgerowError
from db.models import Run
from db.named_files import read_text
from training.recipe.schema import Recipe

# -- Reading recipes from YAML files or text ------------------------------------------------------


LARGEST = 64 * 1024
"""Maximum size in bytes or characters. A recipe has a few lines, so a larger file is something
else."""


def read_recipe(path: Path) -> Recipe:
    """The recipe in a YAML file. Missing keys have their defaults.

    Raises:
        HedgerowError: the file can't be read, or as in `parse_recipe`.
    """
    return Recipe.model_validate(read_values(path))


def read_values(path: Path) -> dict[str, Any]:
    """The keys and values of a recipe of any kind in a YAML file.

    Raises:
        HedgerowError: the file can't be read, or as in `parse_values`.
    """
    text = read_text(path, kind="a recipe", largest=LARGEST)
    return parse_values(text, name=f"the recipe {str(path)!r}")


def parse_recipe(text: str, *, name: str = "the recipe") -> Recipe:
    """The recipe in a YAML text. Missing keys have their defaults.

    Args:
        name: what messages call it.

    Raises:
        HedgerowError: as in `parse_values`, or a wrong value.
    """
    return Recipe.model_validate(parse_values(text, name=name))


def parse_values(text: str, *, name: str) -> dict[str, Any]:
    """The keys and values of a recipe of any kind in a YAML text.

    Args:
        name: what messages call it.

    Raises:
        HedgerowError: the text is too long, is not YAML, or has no keys with values.
    """
    if len(text) > LARGEST:
        raise HedgerowError(f"{_first_up(name)} is too long; expected a few lines of 'key: value'.")
    try:
        values = yaml.load(text, Loader=_OnceEach)
    except _Repeated as error:
        raise HedgerowError(f"{_first_up(name)} {error}; remove one of them.") from None
    except _Alias as error:
        raise HedgerowError(
            f"{_first_up(name)} has the alias {str(error)[:80]!r}; expected plain values; "
            "replace the alias with its value."
        ) from None
    # Python raises ValueError for an impossible number or date. Brackets may be nested without end.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        raise HedgerowError(
            f"{_first_up(name)} is not valid YAML{line}; expected lines such as 'epochs: 1'."
        ) from error
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise HedgerowError(f"Expected 'key: value' lines in {name}, such as 'epochs: 1'.")
    if odd := next((key for key, value in values.items() if "\0" in f"{key}{value}"), None):
        raise HedgerowError(f"Expected text in {name}, found a null character in {odd[:80]!r}.")
    return values


class _Repeated(Exception):
    """Raised for a repeated key."""

    def __init__(self, key: yaml.ScalarNode) -> None:
        super().__init__(f"has the key {key.value[:80]!r} twice, on line {key.start_mark.line + 1}")


class _Alias(Exception):
    """Raised for an alias for another value. A few nested aliases can expand to millions of
    values."""


class _OnceEach(yaml.SafeLoader):
    """YAML of plain values, without aliases and repeated keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise _Alias(f"*{self.peek_event().anchor}")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise _Repeated(key)
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _first_up(name: str) -> str:
    return name[:1].upper() + name[1:]


# -- The stored recipe of a run, which may have a version that Hedgerow no longer reads -----------


def recipe_of(run: Run) -> Recipe:
    """The recipe of a training run, to repeat it or to build on it.

    Raises:
        HedgerowError: another version of Hedgerow wrote it.
    """
    try:
        return Recipe.model_validate(run.parameters["recipe"])
    except HedgerowError as error:
        message = str(error).replace("The recipe", f"The recipe of run {run.id}", 1)
        raise HedgerowError(message) from error


def values_of(run: Run) -> dict[str, Any]:
    """Every key of a run's recipe for display. A recipe of another version is shown as stored."""
    try:
        return recipe_of(run).model_dump(mode="json")
    except HedgerowError:
        return dict(run.parameters["recipe"])
