"""A subclass of sentence-transformers' trainer for losses over families.

It runs the steps, writes checkpoints and calls the callbacks. `training.finetune.compute` spreads a
step over threads and processes; for the trainer, each process is alone.

This module loads PyTorch: import it inside the functions that train.
"""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch  # noqa: TID253  (the base classes)
from sentence_transformers import (  # noqa: TID253
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from torch.utils.data import DataLoader  # noqa: TID253
from transformers import PrinterCallback, TrainerCallback  # noqa: TID253

from curation.encoders.embeddings import characters
from training.finetune import checkpoints
from training.finetune.checkpoints import TrainingPosition
from training.finetune.compute.processes import ALONE, Group, add_gradients, agreed
from training.finetune.curves import LOSS, PACE, STEP
from training.finetune.setup import Course, Outcome, diverged
from training.finetune.step import StepCollator, StepLoss  # noqa: TID253
from training.finetune.weights import (  # noqa: TID253
    LazyAdamW,
    WeightAverage,
    clip,
    lazy_words,
    linear_schedule,
)
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor
    from transformers import TrainerControl, TrainerState

    from training.finetune.progress import Progress

LOGS_PER_RUN = 100
"""Number of points of the curves of steps."""

CHECKPOINT_EVERY = 100
"""Steps between checkpoints. An interrupted run loses at most this many steps: about a minute with
the built-in encoder on two cores."""

PATIENCE = 2
"""Number of evaluations without improvement after which `early_stopping` ends the run. A single one
may be due to chance."""

_WEIGHTS, _AVERAGE = "model.safetensors", "average.pt"

logger = logging.getLogger(__name__)


@dataclass
class _Arguments(SentenceTransformerTrainingArguments):
    """Arguments that leave the model on its device. `_Schedule` decides what happens after each
    step.

    The library's default would choose the first GPU for this process and move the model there.
    """

    place_model_on_device = False
    use_cpu: bool = True
    dataloader_pin_memory: bool = False
    logging_strategy: str = "no"
    save_strategy: str = "no"
    report_to: str = "none"
    disable_tqdm: bool = True


class FamilyTrainer(SentenceTransformerTrainer):
    """Trains a model in place. At the end, the model has the state that is kept.

    An interrupted run continues from the newest checkpoint in its folder, with the result of an
    uninterrupted one.
    """

    training_args_class = _Arguments
    control: TrainerControl

    def __init__(
        self,
        model: SentenceTransformer,
        course: Course,
        *,
        recipe: Recipe,
        folder: Path,
        identity: str,
        progress: Progress,
        group: Group = ALONE,
    ) -> None:
        """Take the parts that determine the training run.

        Args:
            folder: the folder of its checkpoints; the newest is kept at the end, so that the same
                model can be loaded again immediately.
            identity: a hash of all that determines the training.
        """
        self.course, self.recipe, self.progress, self.group = course, recipe, progress, group
        self.folder, self.identity = folder, identity
        self.average = WeightAverage(model, recipe.trainings)
        self.position, self.read, self.since = TrainingPosition(), 0, 0.0
        self.lazy = LazyAdamW(model, recipe, words=lazy_words(model))
        super().__init__(
            model=model,
            args=_Arguments(
                output_dir=str(folder), max_steps=course.steps * recipe.trainings, seed=course.seed
            ),
            loss=StepLoss(model, course, recipe, progress.check, group),
            data_collator=StepCollator(course, recipe),
            callbacks=[_Schedule(self), progress],
            optimizers=(self.lazy, linear_schedule(self.lazy, steps=course.steps)),
        )
        self.remove_callback(PrinterCallback)
        # Accelerate neither moves nor copies a model inside another one.
        self.model_wrapped = self.loss

    def finish(self) -> Outcome:
        """Train to the end, from the newest checkpoint if there is one.

        Raises:
            HedgerowError: a loss or weight that is not finite, or no room for a checkpoint.
            RunCancelled: raised by ``progress.check``.
        """
        step = checkpoints.newest(self.folder, of=self.identity) if self.group.leads else 0
        if self.group.leads:
            checkpoints.remove(self.folder, but=step)
        try:
            self._go_on(agreed(step, self.group))
        finally:
            self.loss.close()
        return self._keep()

    def _go_on(self, step: int) -> None:
        self.since = time.monotonic()
        if not step:
            if before := self.course.before:
                self.progress.on_evaluate(self.args, self.state, self.control, metrics=before)
            self.train()
            return
        logger.info("continuing after step %s", step)
        checkpoint = str(checkpoints.folder_of(self.folder, step))
        self.position = checkpoints.position_at(self.folder, step)
        if not self.stops_early:
            self.train(resume_from_checkpoint=checkpoint)
            return
        # The trainer would take another step before it notices the request to stop.
        self._load_from_checkpoint(checkpoint)
        self.state.global_step, self.state.max_steps = step, self.args.max_steps
        self.progress.on_train_begin(self.args, self.state, self.control)

    def _keep(self) -> Outcome:
        self.average.stir(self.model)
        step, best = self.state.global_step, self.position.best
        if best is None or best[1] == step or not self.group.leads:
            return Outcome(step, step)
        checkpoints.load_best(self.folder, self.model, step=best[1])
        return Outcome(step, best[1])

    @property
    def stops_early(self) -> bool:
        """Whether the watched metric has not improved in the last evaluations."""
        return bool(self.recipe.early_stopping) and self.position.misses >= PATIENCE

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Create no card: the library would read the texts and query the Hub for it."""

    def get_train_dataloader(self) -> DataLoader[int]:
        """The steps in order: each process takes all of them."""
        steps = range(1, self.args.max_steps + 1)
        return DataLoader(steps, batch_size=1, collate_fn=self.data_collator)

    def compute_loss(self, model: StepLoss, inputs: dict[str, Any], **_: Any) -> Tensor:
        """The loss of a step."""
        return model(inputs)

    def training_step(self, model: StepLoss, inputs: dict[str, Any], *given: Any) -> Tensor:
        """Compute the gradients of a step, summed over all processes. Returns the loss."""
        step = inputs["step"]
        if (step - 1) // self.course.steps > self.average.added:  # the next run of the soup begins
            self.average.add(self.model)
            self.lazy.forget()
        loss = super().training_step(model, inputs, *given).to(self.args.device)
        self.progress.check()
        add_gradients(self.model.parameters(), self.group)
        if not math.isfinite(loss):
            raise diverged(step, self.recipe)
        self.position.losses.append(loss.item())
        texts = {*inputs["texts"], *inputs["more"]}
        self.read += STEP + characters(texts, longest=self.model.max_seq_length)
        return loss

    def _clip_grad_norm(self, model: StepLoss) -> Tensor:
        return clip(
            self.model.parameters()
        )  # the library's function does not support sparse gradients

    def log(self, logs: dict[str, float], *given: Any) -> None:
        """Add the pace. The mean loss is of all steps since the last point, also when resumed."""
        if LOSS in logs:
            now, losses = time.monotonic(), self.position.losses
            logs |= {LOSS: sum(losses) / len(losses), PACE: self.read / (now - self.since)}
            self.position.losses, self.read, self.since = [], 0, now
        super().log(logs, *given)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Evaluate the held-out part, and save the best state so far if it is to be kept."""
        begun, measure = time.monotonic(), self.course.evaluate
        self.model.eval()
        figures = dict(measure()) if measure and self.group.leads else {}
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, figures
        )
        if self.recipe.early_stopping:
            if self.group.leads:
                self._compare(figures[self.recipe.early_stopping])
            self.control.should_training_stop |= bool(agreed(int(self.stops_early), self.group))
        self.since += time.monotonic() - begun  # the pace covers only the steps
        return figures

    def _compare(self, value: float) -> None:
        step, best = self.state.global_step, self.position.best
        if best is None or value > best[0]:
            checkpoints.save_best(self.folder, self.model, step=step)
            self.position.best, self.position.misses = (value, step), 0
        else:
            self.position.misses += 1

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Write the parts of a checkpoint that are not in the trainer's own files."""
        path = Path(output_dir or self.args.output_dir)
        path.mkdir(parents=True, exist_ok=True)
        checkpoints.save_weights(self.model, path / _WEIGHTS)
        torch.save(self.average.state(), path / _AVERAGE)

    def _save_checkpoint(self, model: StepLoss, trial: Any) -> None:
        """Write the checkpoint completely or not at all. The library would accept a half-written
        one."""
        begun, step = time.monotonic(), self.state.global_step
        with checkpoints.whole(self.folder, step, position=self.position, of=self.identity):
            super()._save_checkpoint(model, trial)
        self.since += time.monotonic() - begun

    def _load_from_checkpoint(self, checkpoint_path: str, *_: Any) -> None:
        """Load the weights. The library's method would load a whole encoder, and can't load an
        adapter."""
        path = Path(checkpoint_path)
        checkpoints.load_weights(self.model, path / _WEIGHTS)
        self.average.go_on(torch.load(path / _AVERAGE, map_location="cpu", weights_only=True))


class _Schedule(TrainerCallback):
    """Decides after each step what to do next."""

    def __init__(self, trainer: FamilyTrainer) -> None:
        self.trainer = trainer

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        course, step, steps = self.trainer.course, state.global_step, state.max_steps

        def due(every: int) -> bool:
            return step % every == 0

        state.epoch = step / course.steps_per_epoch
        control.should_log = step == steps or due(max(1, steps // LOGS_PER_RUN))
        control.should_evaluate = course.evaluate is not None and (
            step == steps or due(course.evaluate_every)
        )
        # Also at the end, even if there is one already: the evaluation may be interrupted.
        control.should_save = self.trainer.group.leads and (
            due(CHECKPOINT_EVERY)
            or (step == steps and checkpoints.step_reached(self.trainer.folder) > 0)
        )
