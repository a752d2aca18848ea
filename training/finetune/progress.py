"""What a training tells the outside while it goes on, and how it hears that it shall stop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from db.errors import HedgerowError
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

LOGS_PER_RUN = 100
"""Points of the curves that are drawn step by step."""


LOSS, RATE, PACE = "loss", "learning_rate", "texts_per_second"
"""The names of the curves that every training has."""

EPOCH = "epoch"
"""The curve of epochs done, at each look at the held-out part."""


def in_words(figures: Mapping[str, float]) -> str:
    """Figures as a line of the log has them: 'loss 0.6931, learning_rate 2e-05'."""
    return ", ".join(f"{name} {value:.4g}" for name, value in figures.items())


class Progress(Protocol):
    """What a training tells the outside, and how it hears that it shall stop."""

    def update(self, step: int, total: int, message: str) -> None:
        """So many of all steps are done; step 0 while the training is being prepared."""

    def metric(self, step: int, name: str, value: float) -> None:
        """A point of a curve: `LOSS`, `RATE`, `PACE`, or a figure of the held-out part
        (`training.evaluation.held_out`)."""

    def goes_on(self, step: int) -> None:
        """The training begins after this step: points of curves beyond it are void."""

    def secure(self) -> None:
        """A checkpoint will be written: what was told so far shall outlast this process."""

    def check(self) -> None:
        """Called several times a step; raises db.errors.RunCancelled to stop the training."""


class Silent:
    """The progress of a process that does not lead its group, or that nobody watches."""

    def update(self, step: int, total: int, message: str) -> None:
        """Tell nobody."""

    def metric(self, step: int, name: str, value: float) -> None:
        """Tell nobody."""

    def goes_on(self, step: int) -> None:
        """Nothing was told."""

    def secure(self) -> None:
        """Nothing was told."""

    def check(self) -> None:
        """Go on; the leading process ends all of them by its own end."""


def require_finite(model: SentenceTransformer, *, step: int, recipe: Recipe) -> None:
    """Fail where the last steps have left a weight that is not a finite number.

    Raises:
        HedgerowError: there is such a weight.
    """
    if not all(bool(weights.isfinite().all()) for weights in model.parameters()):
        raise diverged(step, recipe)


def diverged(step: int, recipe: Recipe) -> HedgerowError:
    """The error of a training whose loss or weights are not finite any more."""
    return HedgerowError(
        f"The training diverged after step {step} (a loss or weight is not a finite number); "
        f"lower learning_rate, now {recipe.learning_rate:g}, in the recipe."
    )
