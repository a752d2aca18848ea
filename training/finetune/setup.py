"""The parts of a training run, from its data, recipe and seed: rows, batches, held-out data.

Torch and sentence-transformers are imported inside the functions that need them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from curation.encoders.loading import fingerprint
from db.errors import HedgerowError
from training.data.families import sampled, with_prompts
from training.data.sampling import (
    Batches,
    Epochs,
    FamilyBatches,
    TripleBatches,
    as_triples,
    rows_in_an_epoch,
)
from training.evaluation.general_ability import read_sts
from training.evaluation.held_out import HeldOut
from training.finetune.compute import devices
from training.finetune.inputs import content_hashes
from training.losses.families import Family, Member
from training.recipe.schema import Recipe
from training.retention import distillation
from training.retention.distillation import Distillation
from training.retention.texts import documents, read_sentences, topics

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from training.finetune.progress import Progress


MOST_EVALUATIONS = 10
"""Maximum number of evaluations on the held-out part in a training run. Each takes as long as some
seconds of steps, and ten points make a curve."""


def rows_of(families: Sequence[Family], *, recipe: Recipe, seed: int) -> list[Family]:
    """The training rows, in an order that depends only on their texts.

    Raises:
        HedgerowError: there are too few rows for a batch.
    """
    canonical = sorted((family[0], *sorted(set(family[1:]))) for family in families)
    rows = as_triples(canonical) if recipe.loss == "triples" else canonical
    chosen = sampled(rows, max_triples=recipe.max_triples, seed=seed)
    if not chosen:
        raise HedgerowError(
            "There are no triples to train on; accept at least one hedge or paraphrase and one "
            "negation of the same anchor."
        )
    anchors = list(dict.fromkeys(anchor for anchor, *_ in chosen))
    sampled_ones = len(Epochs(anchors, shares=recipe.sources, seed=seed))
    if sampled_ones < recipe.batch_size:  # no two triples of a batch may share an anchor
        raise HedgerowError(
            f"A batch needs {recipe.batch_size} anchors, found {sampled_ones} per epoch; lower "
            "batch_size, raise the shares in sources, or accept variants of more anchors."
        )
    return chosen


def identity_of(
    rows: Sequence[Family], held_out: Sequence[Family], recipe: Recipe, seed: int
) -> str:
    """A hash of everything that determines a training run; its checkpoints must have the same."""
    content = [
        _texts(rows),
        _texts(held_out) if recipe.early_stopping else [],
        content_hashes(recipe),
        fingerprint(recipe.base_encoder),
        seed,
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _texts(families: Sequence[Family]) -> list[list[Member]]:
    return [list(family) for family in families]


def set_pooling(model: SentenceTransformer, recipe: Recipe) -> None:
    """Set the model's pooling to that of the recipe.

    Raises:
        HedgerowError: the model has no pooling.
    """
    if recipe.pooling == "as_base":
        return
    from sentence_transformers.sentence_transformer.modules import Pooling

    places = [number for number, module in enumerate(model) if isinstance(module, Pooling)]
    if not places:
        raise HedgerowError(
            f"The pooling of the encoder {recipe.base_encoder!r} can't be changed; remove "
            "pooling from the recipe."
        )
    old = model[places[0]]
    model[places[0]] = Pooling(old.embedding_dimension, recipe.pooling)


def set_prompts(model: SentenceTransformer, recipe: Recipe) -> None:
    """Replace the model's instructions by those of the recipe, if it has any."""
    if any(recipe.prompts):
        model.prompts = dict(zip(("query", "document"), recipe.prompts, strict=True))


def set_dropout(model: SentenceTransformer, recipe: Recipe) -> None:
    """Set every dropout in the model to that of the recipe."""
    if recipe.dropout is None:
        return
    from torch.nn import Dropout

    for module in model.modules():
        if isinstance(module, Dropout):
            module.p = recipe.dropout
        elif isinstance(getattr(module, "attention_dropout", None), float):  # as in ModernBERT
            module.attention_dropout = recipe.dropout


def held_out_of(
    model: SentenceTransformer, families: Sequence[Family], recipe: Recipe, progress: Progress
) -> HeldOut | None:
    """The data to evaluate during training; None if there is none.

    Raises:
        HedgerowError: early stopping uses a metric that is not measured.
    """
    found = None
    if families or recipe.sts_file:
        sts = read_sts(Path(recipe.sts_file)) if recipe.sts_file else ()
        shown = [with_prompts(family, recipe) for family in families]
        found = HeldOut(model, shown, sts=sts, check=progress.check)
    watched = recipe.early_stopping
    if watched and (found is None or watched not in found.before):
        raise HedgerowError(
            f"The validation split has no items for the early stopping metric {watched!r}; set "
            "early_stopping to another metric in the recipe, or to none."
        )
    return found


def course_of(
    model: SentenceTransformer,
    rows: list[Family],
    held_out: HeldOut | None,
    recipe: Recipe,
    seed: int,
    progress: Progress,
) -> Course:
    """The number of steps of a training run."""
    of_an_epoch = rows_in_an_epoch(rows, recipe.sources)
    steps_per_epoch = max(1, of_an_epoch // recipe.batch_size)
    own_limit = model.max_seq_length

    def evaluate() -> Mapping[str, float]:
        # Whole texts, as before and after training, which may use shorter ones.
        limit, model.max_seq_length = model.max_seq_length, own_limit
        try:
            return held_out.figures(model) if held_out else {}
        finally:
            model.max_seq_length = limit

    return Course(
        _batches(rows, recipe, seed),
        recipe.steps(of_an_epoch),
        seed=seed,
        bf16=devices.uses_bf16(model),
        distillation=_distillation(model, rows, recipe, seed, progress),
        steps_per_epoch=steps_per_epoch,
        # Other processes take part only if the evaluation decides when to stop.
        evaluate=evaluate if held_out or recipe.early_stopping else None,
        evaluate_every=steps_between_evaluations(
            steps_per_epoch, all_steps=recipe.total_steps(of_an_epoch)
        ),
        before=held_out.before if held_out else {},
    )


def steps_between_evaluations(steps_per_epoch: int, *, all_steps: int) -> int:
    """The steps of an epoch, or more if there would be more than `MOST_EVALUATIONS` evaluations."""
    return max(steps_per_epoch, math.ceil(all_steps / MOST_EVALUATIONS))


def _batches(rows: list[Family], recipe: Recipe, seed: int) -> Batches:
    size, sources = recipe.batch_size, recipe.sources
    if recipe.loss == "triples":
        return TripleBatches(rows, size=size, seed=seed, sources=sources)
    return FamilyBatches(rows, size=size, seed=seed, sources=sources, types=recipe.types)


def _distillation(
    model: SentenceTransformer, rows: list[Family], recipe: Recipe, seed: int, progress: Progress
) -> Distillation | None:
    if not recipe.retention:
        return None
    texts = [family[0].text for family in rows]
    if recipe.retention_file:
        texts += read_sentences(Path(recipe.retention_file))
    return Distillation(
        model,
        texts,
        weight=recipe.retention,
        texts_a_step=distillation.TEXTS_A_STEP,
        topics=topics(),
        topics_a_step=distillation.TOPICS_A_STEP,
        documents=documents(),
        documents_a_step=distillation.DOCUMENTS_A_STEP,
        steps=recipe.total_steps(rows_in_an_epoch(rows, recipe.sources)),
        seed=seed,
        edits=True,
        every=distillation.EVERY,
        check=progress.check,
    )


# -- The plan of a training run, its outcome, and the error for divergence ------------------------


Evaluate = Callable[[], Mapping[str, float]]
"""Computes the metrics of the held-out part, with the model in evaluation mode."""


class Course(NamedTuple):
    """The plan of a training run.

    Attributes:
        batches: the rows of each step.
        steps: the number of steps of each run whose weights are averaged.
        seed: the seed of the dropout.
        bf16: whether to compute in bfloat16; the weights stay in float32.
        distillation: the distillation, if any.
        steps_per_epoch: the number of full batches in an epoch.
        evaluate: measures the held-out part; None to measure nothing.
        evaluate_every: the number of steps between two evaluations; there is also one at the end.
        before: the metrics of the base encoder.
    """

    batches: Batches
    steps: int
    seed: int = 0
    bf16: bool = False
    distillation: Distillation | None = None
    steps_per_epoch: int = 1
    evaluate: Evaluate | None = None
    evaluate_every: int = 0
    before: Mapping[str, float] = MappingProxyType({})


class Outcome(NamedTuple):
    """The outcome of a training run: the steps done, and the step whose state was kept."""

    steps: int
    kept: int


def require_finite(model: SentenceTransformer, *, step: int, recipe: Recipe) -> None:
    """Fail if a weight is not a finite number after the last steps.

    Raises:
        HedgerowError: there is such a weight.
    """
    if not all(bool(weights.isfinite().all()) for weights in model.parameters()):
        raise diverged(step, recipe)


def diverged(step: int, recipe: Recipe) -> HedgerowError:
    """The error for a training run whose loss or weights are no longer finite."""
    return HedgerowError(
        f"Training diverged after step {step} (a loss or weight is not a finite number); lower "
        f"learning_rate, now {recipe.learning_rate:g}, in the recipe."
    )
