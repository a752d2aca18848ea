"""Reading a recipe for a language model from a file, changes and an arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.llm.recipe import LanguageRecipe
from training.recipe.yaml_text import parse_values, read_values


def parse_language_recipe(text: str) -> LanguageRecipe:
    """The recipe in a YAML text. Missing keys have their defaults.

    Raises:
        HedgerowError: the text is not YAML, has no keys with values, or has a wrong value.
    """
    if not text.strip():
        return LanguageRecipe()
    return LanguageRecipe.model_validate(parse_values(text, name="the recipe"))


def chosen_recipe(
    file: Path | None = None,
    changes: Sequence[str] | Mapping[str, Any] = (),
    arm: str | None = None,
) -> LanguageRecipe:
    """The recipe in a YAML file, or the default recipe, with changes.

    Args:
        changes: 'key=value' texts, as from `--set`, or keys with values.
        arm: replaces the recipe's arm; None keeps it.

    Raises:
        HedgerowError: the file can't be read, or a value is wrong.
    """
    values = read_values(file) if file is not None else {}
    if arm is not None:
        values["arm"] = arm
    if isinstance(changes, Mapping):
        return LanguageRecipe.model_validate(values | dict(changes))
    return LanguageRecipe.model_validate(values).with_overrides(changes)
