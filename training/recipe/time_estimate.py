"""About how long a training takes on this machine.

The time of reading a text is proportional to its length, so a training is counted in characters:
those that its steps pass forwards and backwards, and those that are only passed forwards. How many
of them this machine reads in a second is known from the last training here; before the first one,
from the last measuring of cosines, which loading the starter corpus starts; and else it is that of
two CPU cores.
"""

from __future__ import annotations

import math
import os
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import TEST_SHARE, VALIDATION_SHARE
from curation.diagnostics.cosines import count_without_cosine
from curation.diagnostics.measuring import KIND as MEASURING
from curation.encoders import reading_pace
from curation.encoders.model_folders import local_folder
from db.errors import HedgerowError
from db.models import Encoder, Run, Variant
from db.named_files import expanded
from db.runs import list_runs, metrics
from training.evaluation.held_out import MOST_FAMILIES
from training.evaluation.retrieval import retrieval_characters
from training.finetune.curve_names import PACE, STEP
from training.finetune.setup import MOST_EVALUATIONS
from training.models.size import BUILT_IN_WEIGHT, weight_of
from training.recipe.plan import KIND, TrainingPlan
from training.recipe.schema import Recipe
from training.retention import distillation
from training.runs.figures import SAMPLE, Part

CHARACTERS_PER_SECOND = 20_000.0
"""Forwards and backwards through the built-in encoder on two free CPU cores with instructions for
bfloat16. Measured were 10,300 a second of processor time, with texts of 66 to 101 characters."""

_FORWARD_ONLY, _FORWARD_ONLY_BF16 = 2.1, 1.3
"""How many times as fast a text is measured as trained on. With bfloat16, in which only trainings
compute, the built-in encoder took 1.5 times as long for both ways on one machine and 1.15 times on
another."""

TELLING_STEPS = 20
"""A shorter training is mostly loading; its pace says nothing about that of others."""

PREPARING = 10.0
"""Seconds until a text is read: loading libraries and an encoder."""

OVERHEAD = 20.0
"""Further seconds of a training in which none is read: loading encoders again, comparing texts,
saving."""

_SETS_THE_PACE = ("lora_rank", "dropout")
"""What of a recipe, beside the encoder, decides how long a character takes: with dropout, one
thread does it all."""


class TimeEstimate(NamedTuple):
    """About how long a training takes, in seconds, and the run that this is judged by, if any."""

    seconds: float
    by_run: int | None


@cache
def forward_only() -> float:
    """How many times as fast this machine measures a text as it trains on it."""
    try:  # torch knows it on every system, but importing it would delay the page
        has_bf16 = "avx512_bf16" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        has_bf16 = False
    return _FORWARD_ONLY_BF16 if has_bf16 else _FORWARD_ONLY


def estimate(session: Session, plan: TrainingPlan, recipe: Recipe) -> TimeEstimate:
    """About how long a training takes here.

    The pace of another encoder counts by how heavy both are (`training.models.size`).
    """
    steps = recipe.total_steps(plan.rows(recipe))
    held = _retention(plan, recipe, steps=steps)
    of_a_step = STEP + recipe.batch_size * plan.characters_a_row(recipe) + held.a_step
    read = held.before + _evaluations(plan, recipe) + _measured_afterwards(session, plan, recipe)
    pace, run = pace_of(session, recipe)
    return TimeEstimate(
        PREPARING + OVERHEAD + (steps * of_a_step + read / forward_only()) / pace, run
    )


def measuring_steps(pairs: int, texts_a_step: float) -> int:
    """As long as how many training steps the measuring of so many pairs takes, roughly."""
    return max(1, round(2 * pairs / forward_only() / texts_a_step))


def _retention(plan: TrainingPlan, recipe: Recipe, *, steps: int) -> distillation.Reading:
    if not recipe.retention:
        return distillation.Reading(0.0, 0.0)
    own, letters = plan.anchors, plan.letters
    if recipe.retention_file:
        with suppress(HedgerowError, OSError):  # missing files are refused elsewhere
            lines, of_line = distillation.lines_of(expanded(recipe.retention_file))
            letters = (own * letters + lines * of_line) / max(1, own + lines)
            own += lines
    return distillation.reading(own, letters, steps=steps)


def _evaluations(plan: TrainingPlan, recipe: Recipe) -> float:
    """Characters of all evaluations: of the held-out part before, within and after the steps, and
    of retrieval before and after."""
    train_share = 1 - TEST_SHARE - VALIDATION_SHARE
    families = min(MOST_FAMILIES, plan.anchors * VALIDATION_SHARE / train_share)
    of_family = plan.texts / max(1, plan.anchors) * reading_pace.length(plan.letters)
    read = families * of_family
    if recipe.sts_file:
        with suppress(HedgerowError, OSError):
            read += os.path.getsize(expanded(recipe.sts_file))  # its sentences are most of the work
    within = min(MOST_EVALUATIONS, math.ceil(recipe.trainings * recipe.epochs))
    return (within + 2) * read + 2 * retrieval_characters()


def _measured_afterwards(session: Session, plan: TrainingPlan, recipe: Recipe) -> float:
    """Characters of the variants that are measured under both encoders, if not known before."""
    variants = session.execute(select(func.count()).select_from(Variant)).scalar_one()
    base = select(col(Encoder.id)).where(col(Encoder.name) == recipe.base_encoder)
    unknown = count_without_cosine(session, session.execute(base.limit(1)).scalar())
    most = SAMPLE * len(Part)
    return (min(variants, most) + min(unknown, most)) * reading_pace.length(plan.letters)


def pace_of(session: Session, recipe: Recipe) -> tuple[float, int | None]:
    """Characters a second, forwards and backwards, and the run on this machine that tells it."""
    for run in _comparable_trainings(session, recipe):
        paces = [pace for _, pace in metrics(session, run.id, name=PACE)]
        factor = heavier(_base_of(run), than=recipe.base_encoder)
        if paces and factor:  # each of as many steps
            return factor * len(paces) / sum(1 / pace for pace in paces), run.id
    for run in of_this_host(list_runs(session, kind=MEASURING)):
        paces = [pace for _, pace in metrics(session, run.id, name=reading_pace.PACE)]
        encoder = str(run.result.get("encoder", ""))
        factor = heavier(encoder, than=recipe.base_encoder)
        if paces and factor:
            return factor * paces[-1] / forward_only(), run.id
    weight = _weight(recipe.base_encoder) or BUILT_IN_WEIGHT
    return CHARACTERS_PER_SECOND * BUILT_IN_WEIGHT / weight, None


def _comparable_trainings(session: Session, recipe: Recipe) -> list[Run]:
    """Trainings here: from the same encoder first, then the most alike, then the newest."""
    wanted = recipe.model_dump(mode="json")

    def in_common(run: Run) -> tuple[bool, int]:
        own = run.parameters["recipe"]
        alike = sum(own.get(key) == wanted[key] for key in _SETS_THE_PACE)
        return _base_of(run) == recipe.base_encoder, alike

    comparable = [
        run
        for run in of_this_host(list_runs(session, kind=KIND))
        if run.result.get("steps", 0) >= TELLING_STEPS
    ]
    return sorted(comparable, key=in_common, reverse=True)


def of_this_host(runs: list[Run]) -> list[Run]:
    """Those of the runs that this machine has carried out."""
    return [run for run in runs if run.host == socket.gethostname()]


def _base_of(run: Run) -> str:
    return str(run.parameters["recipe"].get("base_encoder", ""))


def heavier(name: str, *, than: str) -> float:
    """How many times as heavy an encoder is as another one; 0 where nobody knows."""
    if name == than:
        return 1.0
    weight = _weight(than)
    return _weight(name) / weight if weight else 0.0


def _weight(encoder: str) -> float:
    """How heavy an encoder is; 0 where its files are not here or say nothing."""
    try:
        folder = local_folder(encoder)
    except HedgerowError:
        return 0.0
    return weight_of(folder) if folder else 0.0
