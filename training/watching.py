"""Looking at a training while it goes on: its steps and curves, a cancel, a loss that diverges."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Protocol

from db.errors import HedgerowError
from training.recipe import Recipe

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
    from transformers import TrainerCallback

logger = logging.getLogger(__name__)


class Progress(Protocol):
    """What a training tells the outside, and how it hears that it shall stop."""

    def update(self, step: int, total: int, message: str) -> None:
        """So many of all steps are done; step 0 while the training is being prepared."""

    def metric(self, step: int, name: str, value: float) -> None:
        """A point of a curve: 'loss', 'learning_rate' or 'samples_per_second'."""

    def check(self) -> None:
        """Called several times a step; raises db.errors.RunCancelled to stop the training."""


def watch(trainer: SentenceTransformerTrainer, *, recipe: Recipe, progress: Progress) -> None:
    """Have `progress` told of each step and asked within each, and bad losses noticed at once."""

    def check(*_: object) -> None:
        progress.check()

    def check_loss(_module: object, _inputs: object, loss: torch.Tensor) -> None:
        progress.check()
        if not loss.isfinite():
            raise _diverged(trainer.state.global_step, recipe)

    # The anchors and the other texts are two passes through the model: three looks a step here,
    # one more after the backward pass.
    trainer.model.register_forward_pre_hook(check)
    trainer.loss.register_forward_hook(check_loss)
    trainer.add_callback(_reporter(recipe, progress))


def _reporter(recipe: Recipe, progress: Progress) -> TrainerCallback:
    from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

    class Reporter(TrainerCallback):
        """Passes on the trainer's steps and logs. A class in here, since its base needs torch."""

        def __init__(self) -> None:
            self.logged = (0, time.monotonic())

        def on_pre_optimizer_step(self, *_: object, **__: object) -> None:
            progress.check()

        def on_step_end(
            self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
        ) -> None:
            progress.check()
            progress.update(state.global_step, state.max_steps, "training")

        def on_log(
            self,
            args: TrainingArguments,
            state: TrainerState,
            control: TrainerControl,
            logs: dict[str, float] | None = None,
            **_: object,
        ) -> None:
            if not logs or "loss" not in logs:  # the summary at the end
                return
            step, now = state.global_step, time.monotonic()
            steps, seconds = step - self.logged[0], now - self.logged[1]
            self.logged = (step, now)
            values = {
                "loss": logs["loss"],
                "learning_rate": logs["learning_rate"],
                "samples_per_second": steps * recipe.batch_size / max(seconds, 1e-9),
            }
            for name, value in values.items():
                progress.metric(step, name, value)
            logger.info(
                "step %d of %d: loss %.4f, learning rate %.2e, %.1f triples a second",
                step, state.max_steps, *values.values(),
            )  # fmt: skip

    return Reporter()


def require_finite(model: SentenceTransformer, *, step: int, recipe: Recipe) -> None:
    """Fail where the last steps have left a weight that is not a finite number.

    Raises:
        HedgerowError: there is such a weight.
    """
    if not all(bool(weights.isfinite().all()) for weights in model.parameters()):
        raise _diverged(step, recipe)


def _diverged(step: int, recipe: Recipe) -> HedgerowError:
    return HedgerowError(
        f"The training diverged after step {step} (a loss or weight is not a finite number); "
        f"lower learning_rate, now {recipe.learning_rate:g}, in the recipe."
    )
