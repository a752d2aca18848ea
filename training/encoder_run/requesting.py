"""The action *train*: the request, what it would train on and how long, and storing the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field
from sqlalchemy.orm import Session

from curation.actions import Action, OpenProject, Request
from curation.anchors.revisions import sources_in_use
from curation.formatting import duration
from db import LARGEST_NUMBER
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Run
from training.data.families import Composition, composition, composition_now
from training.encoder_run.training_run import DEFAULT_SEED, request_training
from training.finetune.feasibility import TimeEstimate, estimate, left_by
from training.finetune.inputs import with_full_paths
from training.models.display_names import short_name
from training.recipe.presets import PRESETS, Preset, fitting, named, reason, recipe_for
from training.recipe.schema import Recipe, cautions, read_recipe
from training.recipe.training_data import TrainingPlan
from training.recipe.training_data import plan as data_of


def _recipe(given: Any) -> Any:
    if isinstance(given, str | Path):
        return with_full_paths(read_recipe(Path(given)))
    return given


class Train(Request):
    """A training run: a recipe (of a preset, or one's own), a release and a seed."""

    release: int | None = Field(default=None, ge=1, le=LARGEST_NUMBER)
    """Release to train on. Default: the newest, or a first one made from all sources."""

    preset: str | None = Field(
        default=None,
        description=f"One of {', '.join(PRESETS)}. Default: the preset that fits the release.",
    )

    recipe: Annotated[Recipe | None, BeforeValidator(_recipe)] = None
    """YAML file with a recipe, instead of a preset."""

    settings: Mapping[str, Any] | tuple[str, ...] = ()
    """Change a recipe key. Can be repeated."""

    seed: int = DEFAULT_SEED
    """Seed for the order of the data and the dropout."""

    def preset_on(self, data: TrainingPlan) -> Preset:
        """The preset: the named one, or the one that fits the data.

        Raises:
            HedgerowError: there is no such preset.
        """
        return named(self.preset) if self.preset else fitting(data)

    def recipe_on(self, data: TrainingPlan) -> tuple[Recipe, str]:
        """The whole recipe, with full paths, and a sentence on the preset and the reason for it.

        Raises:
            HedgerowError: there are a preset and a recipe, or a key or value is not valid.
        """
        if self.preset and self.recipe:
            raise HedgerowError("Expected a preset or a recipe, found both; remove one of them.")
        if self.recipe:
            changed = changed_recipe(self.recipe, self.settings) if self.settings else self.recipe
            return changed, ""
        preset = self.preset_on(data)
        why = f". {preset.purpose}" if self.preset else f", because {reason(data)}."
        recipe = changed_recipe(recipe_for(preset, data), self.settings)
        return recipe, f"Preset: {preset.id}{why}"


@dataclass(frozen=True)
class Plan:
    """What a request would do.

    Attributes:
        data: the train split of the release.
        left: what the recipe leaves of it.
        why: a sentence on the preset and the reason for it; '' for one's own recipe.
        sources: the number of sources in the project.
    """

    data: TrainingPlan
    left: TrainingPlan
    recipe: Recipe
    why: str
    time: TimeEstimate
    sources: int

    def sentences(self) -> list[str]:
        """What is trained on what, and how long that takes."""
        by = f"judging by run {self.time.by_run}" if self.time.by_run else "on two idle CPU cores"
        return [
            f"Trains {short_name(self.recipe.base_encoder)} on {self._source()}: {self._amount()}.",
            f"Takes {duration(self.time.seconds)}, {by}.",
        ]

    def _source(self) -> str:
        release, selected = self.data.release, self.data.selection.sources
        if release is None:
            return f"a first release, made from the {self.data.variants:,} accepted variants" + (
                " of all sources" if self.sources > 1 else ""
            )
        only = f", which contains only {', '.join(selected)}" if selected else ""
        return f"release {release}{only}"

    def _amount(self) -> str:
        """Steps and rows, and what the recipe excludes."""
        recipe, left = self.recipe, self.left
        rows = left.rows(recipe)
        steps = f"{recipe.steps(rows):,} steps"
        if recipe.trainings > 1:
            steps = f"{recipe.trainings} training runs of {steps}"
        text = f"{steps} with a batch size of {recipe.batch_size}, on {rows:,} {recipe.rows}"
        if left.families(recipe) < left.anchors:
            text += f", the part of {left.anchors:,} families that one epoch uses"
        triples = f"{left.triples:,} triples in the training split"
        if recipe.leaves_out_kinds:
            what = "anchors with hedges" if recipe.data == "hedging" else "triples"
            count = left.anchors if recipe.data == "hedging" else left.triples
            triples = f"{count:,} {what}, from {self.data.triples:,} triples in the training split"
        if recipe.max_triples is not None and recipe.max_triples < left.triples:
            triples = f"a sample of about {recipe.max_triples:,} of {triples}"
        return f"{text} ({triples})"


class Stored(NamedTuple):
    """A stored training run, its whole recipe, and what to know about them, in sentences."""

    run: Run
    recipe: Recipe
    notes: list[str]


def plan(
    project: OpenProject,
    request: Train,
    *,
    data: TrainingPlan | None = None,
    composed: Callable[[], Composition] | None = None,
) -> Plan:
    """What a request would do, without storing anything.

    Args:
        data, composed: the train split of the request's release and what it is composed of, which
            take a second to count and never change.

    Raises:
        HedgerowError: there is no such release or too little data, or the recipe is not valid.
    """
    with reading(project.engine) as session:
        data = data or data_of(session, request.release)
        recipe, why = request.recipe_on(data)
        left = left_by(recipe, data, composed=composed or partial(_composed, session, data))
        time = estimate(session, left, recipe)
        return Plan(data, left, recipe, why, time, len(sources_in_use(session)))


def _composed(session: Session, data: TrainingPlan) -> Composition:
    if data.release is None:
        return composition_now(session)
    return composition(session, data.release)


def store(project: OpenProject, request: Train) -> Stored:
    """Store a training run.

    Raises:
        HedgerowError: as in ``plan`` and ``request_training``.
    """
    with writing(project.engine) as session:
        recipe, why = request.recipe_on(data_of(session, request.release))
        author_id = project.author(session)
    run = request_training(
        project.engine,
        release_number=request.release,
        seed=request.seed,
        recipe=recipe,
        requested_by=author_id,
    )
    return Stored(run, recipe, [*[why] * bool(why), *cautions(recipe)])


TRAIN = Action("train", Train, store, plan)


def changed_recipe(base: Recipe, changes: Mapping[str, Any] | Sequence[str]) -> Recipe:
    """Apply changes to a recipe, and make its paths absolute.

    Args:
        changes: 'key=value' texts, applied in order, or keys with values.

    Raises:
        HedgerowError: a key is unknown or a value is invalid.
    """
    if not isinstance(changes, Mapping):
        return with_full_paths(base.with_overrides(changes))
    values = {k: str(value) if isinstance(value, Path) else value for k, value in changes.items()}
    return with_full_paths(Recipe.model_validate({**base.model_dump(), **values}))
