"""The stored recipe of a run, which may have a version that Hedgerow no longer reads."""

from __future__ import annotations

from typing import Any

from db.errors import HedgerowError
from db.models import Run
from training.recipe.schema import Recipe


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
