"""Before a training run is stored: whether a release has enough data for it, and the time."""

import math
import os
import socket
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.cosines import count_without_cosine
from curation.diagnostics.measuring import KIND as MEASURING
from curation.encoders import embeddings
from curation.encoders.model_folders import local_folder
from curation.release.freezing import get_release
from curation.splits import TEST_SHARE, VALIDATION_SHARE
from db.errors import HedgerowError
from db.models import Encoder, Run, Split, Variant
from db.named_files import expanded
from db.runs import list_runs, metrics
from training.data.families import Composition, composition, training_families
from training.evaluation.figures import SAMPLE, Part
from training.evaluation.general_ability import retrieval_characters
from training.evaluation.held_out import MOST_FAMILIES
from training.finetune.curves import PACE, STEP
from training.finetune.setup import MOST_EVALUATIONS, rows_of
from training.models.known import BUILT_IN_WEIGHT, weight_of
from training.recipe.schema import Recipe
from training.recipe.training_data import KIND, TrainingPlan
from training.retention import distillation
from training.retention.texts import lines_of

# -- Checking that a release has enough data for a recipe, before a run is stored -----------------


SPARE = 1.5
"""Minimum expected size of a sample in batches. Whole families are sampled, some of them large."""


def require_enough(
    session: Session,
    whole: TrainingPlan,
    recipe: Recipe,
    *,
    seed: int,
    providers: Collection[str] = (),
) -> None:
    """Refuse a recipe that leaves too few anchors for a batch, or none.

    Args:
        whole: what a training on this release would work on without a recipe's limits.
        providers: whose variants alone take part; none means all.

    Raises:
        HedgerowError: the recipe leaves too few.
    """
    left = left_by(
        recipe, whole, composed=lambda: composition(session, whole.release), providers=providers
    )
    if _might_draw_too_few(left, recipe):
        key = get_release(session, whole.release).id
        families = training_families(
            session, key, split=Split.TRAIN, recipe=recipe, providers=providers
        )
        rows_of(families, recipe=recipe, seed=seed)


def left_by(
    recipe: Recipe,
    whole: TrainingPlan,
    *,
    composed: Callable[[], Composition],
    providers: Collection[str] = (),
) -> TrainingPlan:
    """The data that a recipe leaves, if it is enough for training.

    The contents of a small sample (`max_triples`) are not checked here. `require_enough` does that
    with the texts.

    Args:
        whole: what a training without a recipe's limits would work on.
        composed: returns the composition of the train split; called only if any of it is left out.
        providers: whose variants alone take part; none means all.

    Raises:
        HedgerowError: the recipe leaves too few.
    """
    if not whole.triples and recipe.data != "hedging":  # with it, negatives are other anchors
        where = (
            "The set of accepted variants" if whole.release is None else f"Release {whole.release}"
        )
        raise HedgerowError(
            f"{where} has no triples to train on; accept a hedge or paraphrase and a negation of "
            "the same anchor, then create a new release."
        )
    left = whole
    if recipe.leaves_out_kinds or providers:
        left = composed().left_by(recipe, providers)
    _require_batch(left, recipe)
    return left


def _require_batch(left: TrainingPlan, recipe: Recipe) -> None:
    if not left.anchors:
        raise HedgerowError(
            "Expected a recipe that leaves anchors to train on, found one that leaves none: no "
            "anchor keeps both a positive and a negative; exclude less (data, sources, types)."
        )
    found = left.families(recipe)
    if found < recipe.batch_size:
        where = "" if found == left.anchors else f" per epoch, of {left.anchors:,}"
        raise HedgerowError(
            f"Expected at least {recipe.batch_size} anchors with a positive and a negative for a "
            f"batch, found {found:,}{where}; lower batch_size, or exclude less."
        )


def _might_draw_too_few(left: TrainingPlan, recipe: Recipe) -> bool:
    """Whether a sample of `max_triples` is so small that it may not fill a batch."""
    sampled = recipe.max_triples or left.triples
    families = left.families(recipe)
    return left.triples > sampled and families * sampled < SPARE * recipe.batch_size * left.triples


# -- An estimate of the time that a training run takes on this machine ----------------------------
#
# The time to read a text is proportional to its length, so the unit is characters: those that the
# steps pass forward and backward, and those that are only passed forward. The pace comes from the
# last training run on this machine. Before the first one, it comes from the last measurement of
# cosines, which loading the starter corpus starts, or else it is that of two CPU cores.


CHARACTERS_PER_SECOND = 20_000.0
"""Characters per second, forward and backward, of the built-in encoder on two free CPU cores with
instructions for bfloat16. Measurements gave 10,300 per second of processor time, with texts of 66
to 101 characters."""

_FORWARD_ONLY, _FORWARD_ONLY_BF16 = 2.1, 1.3
"""The ratio of the paces of measuring and training. bfloat16 is only used in training; with it,
the built-in encoder took 1.5 times as long for both passes on one machine, and 1.15 times on
another."""

TELLING_STEPS = 20
"""A shorter run is mostly loading; its pace is not representative."""

PREPARING = 10.0
"""Seconds before the first text: loading libraries and an encoder."""

OVERHEAD = 20.0
"""Further seconds of a training run without reading texts: loading encoders again, comparing texts,
saving."""

_SETS_THE_PACE = ("lora_rank", "dropout")
"""The recipe keys, besides the encoder, that affect the pace: with dropout, there is only one
thread."""


class TimeEstimate(NamedTuple):
    """The estimated seconds, and the run that the estimate is based on, if any."""

    seconds: float
    by_run: int | None


@cache
def forward_only() -> float:
    """The ratio of the paces of measuring and training on this machine."""
    try:  # torch knows it on every system, but importing it would delay the page
        has_bf16 = "avx512_bf16" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        has_bf16 = False
    return _FORWARD_ONLY_BF16 if has_bf16 else _FORWARD_ONLY


def estimate(session: Session, plan: TrainingPlan, recipe: Recipe) -> TimeEstimate:
    """The estimate for a training run on this machine.

    The pace of another encoder is converted by the ratio of both weights (`training.models.known`).
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
    """The time to measure this many pairs, in training steps, roughly."""
    return max(1, round(2 * pairs / forward_only() / texts_a_step))


def _retention(plan: TrainingPlan, recipe: Recipe, *, steps: int) -> distillation.Reading:
    if not recipe.retention:
        return distillation.Reading(0.0, 0.0)
    own, letters = plan.anchors, plan.letters
    if recipe.retention_file:
        with suppress(HedgerowError, OSError):  # missing files are refused elsewhere
            lines, of_line = lines_of(expanded(recipe.retention_file))
            letters = (own * letters + lines * of_line) / max(1, own + lines)
            own += lines
    return distillation.reading(own, letters, steps=steps)


def _evaluations(plan: TrainingPlan, recipe: Recipe) -> float:
    """Characters of all evaluations: on the held-out part before, during and after training, and
    for retrieval before and after."""
    train_share = 1 - TEST_SHARE - VALIDATION_SHARE
    families = min(MOST_FAMILIES, plan.anchors * VALIDATION_SHARE / train_share)
    of_family = plan.texts / max(1, plan.anchors) * embeddings.length(plan.letters)
    read = families * of_family
    if recipe.sts_file:
        with suppress(HedgerowError, OSError):
            read += os.path.getsize(expanded(recipe.sts_file))  # most of the work
    within = min(MOST_EVALUATIONS, math.ceil(recipe.trainings * recipe.epochs))
    return (within + 2) * read + 2 * retrieval_characters()


def _measured_afterwards(session: Session, plan: TrainingPlan, recipe: Recipe) -> float:
    """Characters of the variants to measure with both encoders, without those measured before."""
    variants = session.execute(select(func.count()).select_from(Variant)).scalar_one()
    base = select(col(Encoder.id)).where(col(Encoder.name) == recipe.base_encoder)
    unknown = count_without_cosine(session, session.execute(base.limit(1)).scalar())
    most = SAMPLE * len(Part)
    return (min(variants, most) + min(unknown, most)) * embeddings.length(plan.letters)


def pace_of(session: Session, recipe: Recipe) -> tuple[float, int | None]:
    """Characters per second, forward and backward, and the run on this machine that shows this."""
    for run in _comparable_trainings(session, recipe):
        paces = [pace for _, pace in metrics(session, run.id, name=PACE)]
        factor = heavier(_base_of(run), than=recipe.base_encoder)
        if paces and factor:  # each run has this many steps
            return factor * len(paces) / sum(1 / pace for pace in paces), run.id
    for run in of_this_host(list_runs(session, kind=MEASURING)):
        paces = [pace for _, pace in metrics(session, run.id, name=embeddings.PACE)]
        encoder = str(run.result.get("encoder", ""))
        factor = heavier(encoder, than=recipe.base_encoder)
        if paces and factor:
            return factor * paces[-1] / forward_only(), run.id
    weight = _weight(recipe.base_encoder) or BUILT_IN_WEIGHT
    return CHARACTERS_PER_SECOND * BUILT_IN_WEIGHT / weight, None


def _comparable_trainings(session: Session, recipe: Recipe) -> list[Run]:
    """Training runs here: the same encoder first, then the most similar, then the newest."""
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
    """The runs that were executed on this machine."""
    return [run for run in runs if run.host == socket.gethostname()]


def _base_of(run: Run) -> str:
    return str(run.parameters["recipe"].get("base_encoder", ""))


def heavier(name: str, *, than: str) -> float:
    """The ratio of the weights of two encoders; 0 if unknown."""
    if name == than:
        return 1.0
    weight = _weight(than)
    return _weight(name) / weight if weight else 0.0


def _weight(encoder: str) -> float:
    """The weight of an encoder; 0 if its files are missing or do not show it."""
    try:
        folder = local_folder(encoder)
    except HedgerowError:
        return 0.0
    return weight_of(folder) if folder else 0.0
