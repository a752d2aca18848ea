"""The plan of a training run, its outcome, and the error for divergence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from db.errors import HedgerowError
from training.data.sampling import Batches
from training.recipe.schema import Recipe
from training.retention.distillation import Distillation

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

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
