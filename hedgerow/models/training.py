"""Finetuning an encoder on a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from db.engine import writing
from db.errors import HedgerowError
from db.models import Run
from hedgerow.home import Home, asked_by
from hedgerow.progress import quietly
from hedgerow.running import carry_out
from training.encoder_run.trainings import DEFAULT_SEED, request_training
from training.finetune.inputs import with_full_paths
from training.recipe.plan import plan
from training.recipe.presets import fitting, named, reason, recipe_for
from training.recipe.reading import read_recipe
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from hedgerow.models.trained import TrainedEncoder


class StoredTraining(NamedTuple):
    """A stored training run.

    Attributes:
        recipe: the recipe of the run, with all changes.
        why: a sentence about the preset and the reason for it; "" for the user's own recipe.
    """

    run: Run
    recipe: Recipe
    why: str


def store_training(
    home: Home,
    number: int | None,
    *,
    preset: str | None,
    recipe: Path | None,
    changes: Sequence[str] | Mapping[str, Any],
    seed: int,
) -> StoredTraining:
    """Store a training run.

    Args:
        number: the number of the release; None for the newest release, which is created from all
            sources if there is none.
        preset, recipe: a preset or a file, not both; by default the preset that fits the release.
        changes: changes to the recipe: 'key=value' texts, applied in order, or keys with values.

    Raises:
        HedgerowError: as in `request_training`, or the recipe cannot be read.
    """
    if preset and recipe:
        raise HedgerowError("Expected a preset or a recipe, found both; remove one of them.")
    with writing(home.engine) as session:
        if recipe:
            base, why = read_recipe(recipe), ""
        else:
            wanted = plan(session, number)
            chosen = named(preset) if preset else fitting(wanted)
            note = f". {chosen.purpose}" if preset else f", because {reason(wanted)}."
            base, why = recipe_for(chosen, wanted), f"Preset: {chosen.id}{note}"
        whole = changed_recipe(base, changes)
        run = request_training(
            session,
            release_number=number,
            seed=seed,
            recipe=whole,
            requested_by=asked_by(session, home.settings),
        )
    return StoredTraining(run, whole, why)


def changed_recipe(base: Recipe, changes: Sequence[str] | Mapping[str, Any]) -> Recipe:
    """Apply changes to a recipe (see `store_training`), and make its paths absolute.

    Raises:
        HedgerowError: a key is unknown or a value is invalid.
    """
    if not isinstance(changes, Mapping):
        return with_full_paths(base.with_overrides(changes))
    named = {k: str(value) if isinstance(value, Path) else value for k, value in changes.items()}
    return with_full_paths(Recipe.model_validate({**base.model_dump(), **named}))


def train(
    home: Home,
    number: int | None,
    *,
    preset: str | None,
    recipe: Path | None,
    settings: Mapping[str, Any],
    seed: int | None,
) -> TrainedEncoder:
    """See `hedgerow.Project.train`."""
    stored = store_training(
        home,
        number,
        preset=preset,
        recipe=recipe,
        changes=settings,
        seed=DEFAULT_SEED if seed is None else seed,
    )
    result = carry_out(home.settings, home.engine, stored.run.id)
    return loaded(result)


def loaded(result: Mapping[str, Any]) -> TrainedEncoder:
    """Load the model of a finished run, without printing library warnings."""
    with quietly():
        from hedgerow.models.trained import load_trained

        return load_trained(result)
