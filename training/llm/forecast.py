"""A forecast for a finetuning run: the number of question pairs and steps, and the time.

The speed depends on the size of the model and on the device. The estimate therefore comes from an
earlier run with the same model on this machine. Before the first run there is no estimate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.release.freezing import get_release
from curation.release.question_pairs import count_questions, require_questions
from db.models import Run, RunState, Split
from db.runs import list_runs
from training.llm.recipe import LanguageRecipe
from training.llm.request import KIND, MEASURED, request_of
from training.recipe.time_estimate import of_this_host

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
    for run in of_this_host(list_runs(session, kind=KIND)):
        if run.state != RunState.DONE or not run.result.get("pace"):  # it resumed from a checkpoint
            continue
        request = request_of(run)
        alike = all(getattr(request.recipe, name) == getattr(recipe, name) for name in _ALIKE)
        if request.base == base and alike:
            return run
    return None
