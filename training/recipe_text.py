"""Recipes as YAML: in a file, or as a person edits them."""

from __future__ import annotations

from pathlib import Path

import yaml

from db.errors import HedgerowError
from training.recipe import Recipe
from training.text_files import read_text

LARGEST = 64 * 1024
"""Bytes of a file, or characters; a recipe is some lines, so more is something else."""


def read_recipe(path: Path) -> Recipe:
    """The recipe in a YAML file; keys it leaves out have their defaults.

    Raises:
        HedgerowError: the file can't be read, or as in `parse_recipe`.
    """
    text = read_text(path, kind="a recipe", largest=LARGEST)
    return parse_recipe(text, name=f"the recipe {str(path)!r}")


def parse_recipe(text: str, *, name: str = "the recipe") -> Recipe:
    """The recipe in a YAML text; keys it leaves out have their defaults.

    Args:
        name: what messages call it.

    Raises:
        HedgerowError: too long, no YAML, no keys with values, or a wrong value.
    """
    if len(text) > LARGEST:
        raise HedgerowError(f"{_first_up(name)} is too long; expected some lines of 'key: value'.")
    try:
        values = yaml.safe_load(text)
    # A number or date that Python refuses is a ValueError; brackets may be nested without end.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        raise HedgerowError(
            f"{_first_up(name)} is not YAML{line}; expected lines such as 'epochs: 1'."
        ) from error
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise HedgerowError(f"Expected 'key: value' lines in {name}, such as 'epochs: 1'.")
    return Recipe.model_validate(values)


def _first_up(name: str) -> str:
    return name[:1].upper() + name[1:]
