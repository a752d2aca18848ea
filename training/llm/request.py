"""Requests for finetuning a language model: their checks, and a forecast of steps and time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from sqlalchemy.orm import Session

from curation.actions import Action, OpenProject, Request
from curation.release.freezing import get_release
from curation.release.question_pairs import (
    Arm,
    QuestionPair,
    count_questions,
    question_pairs,
    require_questions,
)
from db import LARGEST_NUMBER
from db.engine import reading, writing
from db.errors import HedgerowError
from db.extras import require_package
from db.models import Release, Run, RunState, Split
from db.runs import create_run, list_runs, refuse_equal
from training.data.sampling import random_sample
from training.encoder_run.training_run import DEFAULT_SEED
from training.finetune.feasibility import of_this_host
from training.finetune.finetuning import LARGEST_SEED
from training.llm.base import MAX_NAME, check_base, clean_base, require_four_bit
from training.llm.recipe import LanguageRecipe
from training.models.finetuned import LANGUAGE_MODEL_KIND
from training.recipe.values import read_values

MEASURED = 1_000
"""Maximum number of validation questions; a larger split is sampled. The 95% interval of a share is
then at most 3 points on either side."""

_MEASURED_SEED = 20
"""The seed of that sample. It is the same for all runs, so that their metrics are comparable."""


class LanguageRequest(BaseModel):
    """Everything that determines a finetuning run.

    Attributes:
        base: the model to start from, as in `clean_base`.
        release: its number.
        merge: whether to save the merged model as well.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base: str = Field(min_length=1, max_length=MAX_NAME)
    release: int
    recipe: LanguageRecipe = LanguageRecipe()
    seed: int = Field(default=DEFAULT_SEED, ge=0, le=LARGEST_SEED)
    merge: bool = False


class Questions(NamedTuple):
    """The question pairs of a finetuning.

    Attributes:
        train: the sampled training pairs.
        validation: the pairs for evaluation; empty if the release has no validation split.
    """

    train: list[QuestionPair]
    validation: list[QuestionPair]


def _recipe(given: Any) -> Any:
    if isinstance(given, str | Path):
        return LanguageRecipe.model_validate(read_values(Path(given)))
    return given


class LanguageTraining(Request):
    """A base model, a release, a recipe and a seed."""

    base: str
    """Folder of a causal language model, or its name on the model hub."""

    release: int | None = Field(default=None, ge=1, le=LARGEST_NUMBER)
    """Default: the newest."""

    recipe: Annotated[LanguageRecipe | None, BeforeValidator(_recipe)] = None
    """YAML file with a recipe. Default: the paper's values."""

    settings: Mapping[str, Any] | tuple[str, ...] = ()
    """Change a recipe key. Can be repeated."""

    seed: int = DEFAULT_SEED
    """Seed of all runs."""

    def whole_recipe(self, arm: Arm | None = None) -> LanguageRecipe:
        """The recipe with its changes.

        Args:
            arm: replaces the recipe's arm; None keeps it.

        Raises:
            HedgerowError: a value is wrong.
        """
        recipe = self.recipe or LanguageRecipe()
        if arm is not None:
            recipe = recipe.model_copy(update={"arm": arm})
        if isinstance(self.settings, Mapping):
            return LanguageRecipe.model_validate({**recipe.model_dump(), **self.settings})
        return recipe.with_overrides(self.settings)


class FinetuneLanguageModel(LanguageTraining):
    """What to finetune on the question pairs of a release."""

    arm: Arm | None = None
    """Variants for the questions. Default: the recipe's."""

    seed: int = DEFAULT_SEED
    """Seed for the sample, the order and the dropout."""

    merge: bool = False
    """Also save the whole model with the adapter merged into it."""


class Planned(NamedTuple):
    """What a request would do: the stored form of it, and a forecast."""

    request: LanguageRequest
    forecast: Forecast


def plan(project: OpenProject, wanted: FinetuneLanguageModel) -> Planned:
    """What a request would do, without storing anything.

    Raises:
        HedgerowError: as in `checked_request`.
    """
    with reading(project.engine) as session:
        request = _checked(session, wanted)
        base, number = request.base, request.release
        return Planned(request, forecast(session, request.recipe, base=base, release_number=number))


def store(project: OpenProject, wanted: FinetuneLanguageModel) -> Run:
    """Store a run that finetunes a language model on a release's question pairs.

    Raises:
        HedgerowError: as in `checked_request` and `request_language_finetuning`.
    """
    with writing(project.engine) as session:
        request = _checked(session, wanted)
        return request_language_finetuning(session, request, requested_by=project.author(session))


FINETUNE_LANGUAGE_MODEL = Action("finetune a language model", FinetuneLanguageModel, store, plan)


def _checked(session: Session, wanted: FinetuneLanguageModel) -> LanguageRequest:
    recipe = wanted.whole_recipe(wanted.arm)
    return checked_request(session, wanted, recipe, merge=wanted.merge)


def checked_request(
    session: Session, wanted: LanguageTraining, recipe: LanguageRecipe, *, merge: bool = False
) -> LanguageRequest:
    """The stored form of a request.

    Raises:
        HedgerowError: the release or the causal language model does not exist, the train split
            gives no question for the recipe's arm, there is no chat template, the machine can't
            compute in four bits, or the seed is out of range.
    """
    if not 0 <= wanted.seed <= LARGEST_SEED:
        raise HedgerowError(f"Expected a seed from 0 to {LARGEST_SEED}, found {wanted.seed}.")
    require_package("trl", by="Finetunings of language models")
    release = get_release(session, wanted.release)
    _require_base(base := clean_base(wanted.base), recipe, merge=merge)
    require_train_questions(session, release, recipe)
    return LanguageRequest(
        base=base, release=release.number, recipe=recipe, seed=wanted.seed, merge=merge
    )


def request_language_finetuning(
    session: Session, request: LanguageRequest, *, requested_by: int | None, group: str = ""
) -> Run:
    """Store the run of a checked request.

    Args:
        group: the group of the study that the run is part of; such a run may repeat one in
            progress.

    Raises:
        HedgerowError: the same finetuning is in progress. Roll the session back in this case.
    """
    release = get_release(session, request.release)
    run = create_run(
        session,
        kind=LANGUAGE_MODEL_KIND,
        parameters=request.model_dump(mode="json"),
        inputs={"release": release.content_hash, "recipe": request.recipe.hash},
        requested_by=requested_by,
        group=group,
    )
    if not group:
        change = "change the model, the release, the recipe or the seed"
        refuse_equal(session, run, doing=f"training with the same settings; {change}")
    return run


def _require_base(base: str, recipe: LanguageRecipe, *, merge: bool) -> None:
    """The checks of a model that need no loading or downloading."""
    check_base(base, chat_template=recipe.chat_template)
    if recipe.four_bit:
        require_four_bit()
        if merge:
            raise HedgerowError(
                "A 4-bit model can't be merged with its adapter; set four_bit=false, or don't "
                "save the merged model."
            )


def require_train_questions(session: Session, release: Release, recipe: LanguageRecipe) -> None:
    """Refuse a release whose train split gives no question pair.

    Raises:
        HedgerowError: it gives no question pair.
    """
    counts = count_questions(session, release.id, arm=recipe.arm)
    require_questions(release, counts, recipe.arm)
    if not counts.pairs.get(Split.TRAIN):
        raise HedgerowError(
            f"Expected question pairs in the train split of release {release.number}, found them "
            "only in other splits; accept variants of more anchors and create a new release."
        )


def questions_of(session: Session, release_id: int, recipe: LanguageRecipe, seed: int) -> Questions:
    """The question pairs for training and for evaluation.

    The evaluation covers all types in every arm, so that the arms are comparable.

    Args:
        seed: the seed of the sample of the recipe's `max_pairs`.
    """
    train = list(question_pairs(session, release_id, split=Split.TRAIN, arm=recipe.arm))
    validation = list(question_pairs(session, release_id, split=Split.VALIDATION))
    return Questions(
        random_sample(train, recipe.max_pairs, seed=seed),
        random_sample(validation, MEASURED, seed=_MEASURED_SEED),
    )


def request_of(run: Run) -> LanguageRequest:
    """The request of a stored run."""
    return LanguageRequest.model_validate(run.parameters)


# -- forecast -------------------------------------------------------------------------------------
#
# A forecast for a finetuning run: the number of question pairs and steps, and the time.
#
# The speed depends on the size of the model and on the device. The estimate therefore comes from an
# earlier run with the same model on this machine. Before the first run there is no estimate.


_ALIKE = ("batch_size", "rank", "gradient_checkpointing", "four_bit", "chat_template")
"""The recipe keys that affect the pace; other keys hardly change it."""


class Forecast(NamedTuple):
    """A forecast for a finetuning run.

    Attributes:
        pairs: the number of question pairs in the train split.
        sampled: the number of these that are used for training.
        measured: the number of validation questions that are evaluated.
        steps: the number of training steps.
        seconds: the estimated time; None without an earlier run.
        by_run: the number of that run.
    """

    pairs: int
    sampled: int
    measured: int
    steps: int
    seconds: float | None = None
    by_run: int | None = None


def forecast(
    session: Session, recipe: LanguageRecipe, *, base: str, release_number: int
) -> Forecast:
    """The forecast for finetuning this model on this release.

    Args:
        base: the result of `training.llm.base.clean_base`.

    Raises:
        HedgerowError: there is no such release, or it has no question pairs.
    """
    release = get_release(session, release_number)
    counts = count_questions(session, release.id, arm=recipe.arm)
    require_questions(release, counts, recipe.arm)
    pairs = counts.pairs.get(Split.TRAIN, 0)
    sampled = recipe.sampled(pairs)
    measured = count_questions(session, release.id).pairs.get(Split.VALIDATION, 0)
    found = Forecast(pairs, sampled, min(MEASURED, measured), recipe.steps(sampled))
    if reference := _reference_run(session, recipe, base):
        paces = reference.result
        seconds = recipe.epochs * sampled / paces["pace"]
        if found.measured and paces["measuring_pace"]:
            evaluations = math.ceil(recipe.epochs) + 1
            seconds += evaluations * found.measured / paces["measuring_pace"]
        return found._replace(seconds=seconds, by_run=reference.id)
    return found


def _reference_run(session: Session, recipe: LanguageRecipe, base: str) -> Run | None:
    """The newest comparable run on this machine."""
    for run in of_this_host(list_runs(session, kind=LANGUAGE_MODEL_KIND)):
        if run.state != RunState.DONE or not run.result.get("pace"):  # it resumed from a checkpoint
            continue
        request = request_of(run)
        alike = all(getattr(request.recipe, name) == getattr(recipe, name) for name in _ALIKE)
        if request.base == base and alike:
            return run
    return None
