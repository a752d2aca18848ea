"""The loop that trains: steps, checkpoints and evaluations; it drives one callback, `Progress`.

Torch is imported inside the functions that train.
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from db.errors import HedgerowError
from training.data.antonym_pairs import Opposites
from training.data.sampling import Batches, InContext
from training.finetune import checkpoints
from training.finetune.checkpoints import FOLDERS, TrainingPosition
from training.finetune.compute.devices import computing
from training.finetune.compute.processes import ALONE, Group, add_gradients, agreed
from training.finetune.compute.replicas import threads_for
from training.finetune.compute.text_encoding import can_pack, embed
from training.finetune.curve_names import LOSS, PACE, RATE
from training.finetune.losses import Batch, Objective, flatten, objective
from training.finetune.optimizer import ScheduledOptimizer, lazy_words
from training.finetune.weight_average import WeightAverage
from training.recipe.schema import Recipe
from training.retention.distillation import Distillation

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

    from training.finetune.progress import Progress

logger = logging.getLogger(__name__)

LOGS_PER_RUN = 100
"""Points of the curves of the steps."""

Evaluate = Callable[[], Mapping[str, float]]
"""Gives the figures of the held-out part; the model is in evaluation mode."""


class Course(NamedTuple):
    """What a training goes through.

    Attributes:
        batches: the rows of each step.
        steps: of each training; the recipe says of how many the weights are averaged.
        seed: of the dropout.
        bf16: whether to compute in bfloat16; the weights stay in float32.
        distillation: None without.
        in_context: sets rows into passages; None: leaves them as they are.
        opposites: makes further families for each step; None: none.
        steps_per_epoch: whole batches of the rows there are.
        evaluate: measures the held-out part; None: nothing is measured.
        evaluate_every: steps between two evaluations; there is one at the end, too.
        before: the figures of the base encoder.
    """

    batches: Batches
    steps: int
    seed: int = 0
    bf16: bool = False
    distillation: Distillation | None = None
    in_context: InContext | None = None
    opposites: Opposites | None = None
    steps_per_epoch: int = 1
    evaluate: Evaluate | None = None
    evaluate_every: int = 0
    before: Mapping[str, float] = MappingProxyType({})


class Outcome(NamedTuple):
    """How a training went: the steps done, and the step whose state was kept."""

    steps: int
    kept: int


def train(
    model: SentenceTransformer,
    course: Course,
    *,
    recipe: Recipe,
    folder: Path,
    identity: str,
    progress: Progress,
    group: Group = ALONE,
) -> Outcome:
    """Train the model in place; it ends in the state that is kept.

    A training that was cut off goes on from the newest checkpoint in ``folder``, with the result
    of an unbroken one.

    Args:
        folder: of its checkpoints; the newest is left there at the end, so that the same model
            can be had again at once.
        identity: a hash of all that determines the training.

    Raises:
        HedgerowError: a loss or weight that is not finite, or no room for a checkpoint.
        RunCancelled: out of ``progress.check``.
    """
    training = _Training(model, course, recipe, folder, identity, progress, group)
    try:
        return training.run()
    finally:
        training.close()


class _Training:
    """A training under way."""

    def __init__(
        self,
        model: SentenceTransformer,
        course: Course,
        recipe: Recipe,
        folder: Path,
        identity: str,
        progress: Progress,
        group: Group,
    ) -> None:
        from transformers import TrainerControl, TrainerState

        self.model, self.course, self.recipe = model, course, recipe
        self.folder, self.identity = folder, identity
        self.progress, self.group = progress, group
        self.state, self.control = TrainerState(), TrainerControl()
        self.loss: Objective = objective(recipe, model)
        self.average = WeightAverage(model, recipe.trainings)
        self.packed = can_pack(model)  # before there are replicas of it
        self.words = lazy_words(model, recipe)
        self.threads = threads_for(model, recipe)
        self.steps = course.steps * recipe.trainings
        self.optimizer = self._new_optimizer()
        self.place = TrainingPosition()
        self.checkpoint: TrainingPosition | None = None
        self.since = time.monotonic()

    def run(self) -> Outcome:
        self._go_on()
        while not self._ended():
            self._begin()
            step = self.place.step + 1
            loss, texts = self._step(step)
            if not math.isfinite(loss):
                raise diverged(step, self.recipe)
            place = self.place
            self.place = place._replace(
                step=step, losses=(*place.losses, loss), texts=place.texts + texts
            )
            self._report(step)
            self._evaluate(step)
            self._save(step)
        self.progress.on_train_end(None, self.state, self.control)
        return self._keep()

    def close(self) -> None:
        if self.threads:
            self.threads.close()

    def _new_optimizer(self) -> ScheduledOptimizer:
        return ScheduledOptimizer(
            self.model, self.recipe, steps=self.course.steps, words=self.words
        )

    def _begin(self) -> None:
        """The next training, where one has ended."""
        if self.place.step // self.course.steps > self.average.added:
            self.average.add(self.model)
            self.optimizer = self._new_optimizer()

    def _go_on(self) -> None:
        """From the newest checkpoint, or from the beginning."""
        number = -1
        if self.group.leads:
            found = checkpoints.newest(self.folder, of=self.identity)
            if found is None:
                checkpoints.remove(self.folder)
            else:
                number = FOLDERS.index(found)
        number = agreed(number, self.group)
        if number >= 0:
            self.place = self.checkpoint = checkpoints.load(
                self.folder / FOLDERS[number],
                model=self.model,
                optimizer=self.optimizer,
                average=self.average,
            )
            logger.info("going on after step %s", self.place.step)
        self.since = time.monotonic() - self.place.seconds
        self.state.max_steps = self.steps
        self._at(self.place.step)
        self.progress.on_train_begin(None, self.state, self.control)
        if self.course.before and not self.place.step:
            self.progress.on_evaluate(None, self.state, self.control, metrics=self.course.before)

    def _at(self, step: int) -> None:
        """So many steps are done."""
        self.state.global_step, self.state.epoch = step, step / self.course.steps_per_epoch

    def _save(self, step: int) -> None:
        """A checkpoint where one is due."""
        if not self.control.should_save:
            return
        begun = time.monotonic()
        place = self.place._replace(seconds=begun - self.since)
        checkpoints.save(
            self.folder,
            place=place,
            of=self.identity,
            model=self.model,
            optimizer=self.optimizer,
            average=self.average,
        )
        self.checkpoint = place
        self.progress.on_save(None, self.state, self.control)
        self.since += time.monotonic() - begun

    def _saves(self, step: int) -> bool:
        """Whether a checkpoint is due; at the end, too, since what comes after may be cut off."""
        every = self.recipe.checkpoint_every
        last = step == self.steps and self.checkpoint is not None
        return self.group.leads and bool(every) and (last or step % (every or 1) == 0)

    def _step(self, step: int) -> tuple[float, int]:
        """The loss, and how many texts were encoded."""
        import torch

        rows = self.course.batches.of(step)
        if not rows:
            raise HedgerowError(
                f"No batch of {self.recipe.batch_size} {self.recipe.rows} without a common text "
                "could be made; lower batch_size."
            )
        opposites = self.course.opposites
        if opposites and self.recipe.framed_anchors:
            rows = opposites.framed(rows, step)
        if self.course.in_context:
            rows = self.course.in_context(rows, step)
        if opposites:
            rows = [*rows, *opposites.of(step)]
        batch = flatten(rows)
        distillation = self.course.distillation
        more = distillation.draw(step) if distillation else []
        texts = list(dict.fromkeys([*batch.texts, *more]))
        self.model.train()
        # By the step, so that a training that goes on draws the same dropout as an unbroken one.
        chance = random.Random(f"{self.course.seed}:dropout:{step}:{self.group.rank}")
        torch.manual_seed(chance.getrandbits(63))
        with computing(self.model, bf16=self.course.bf16):
            embeddings = embed(
                self.model,
                texts,
                packed=self.packed,
                group=self.group,
                threads=self.threads,
                check=self.progress.check,
            )
        loss = self.loss(embeddings[: len(batch.texts)], _on(batch, embeddings))
        if distillation and more:
            place = {text: number for number, text in enumerate(texts)}
            loss = loss + distillation.loss(embeddings[[place[text] for text in more]], more)
        self.progress.check()
        if loss.requires_grad:  # not where another process has all the texts
            loss.backward()
        self.progress.check()
        add_gradients(self.model.parameters(), self.group)
        self.optimizer.step()
        return float(loss.detach()), len(texts)

    def _report(self, step: int) -> None:
        self._at(step)
        self.control.should_save = self._saves(step)
        if not self.group.leads:
            self.place = self.place._replace(losses=(), texts=0)
            return
        self.progress.on_step_end(None, self.state, self.control)
        if step % max(1, self.steps // LOGS_PER_RUN) and step < self.steps:
            return
        now, place = time.monotonic(), self.place
        logs = {
            LOSS: sum(place.losses) / len(place.losses),
            RATE: self.optimizer.rate,
            PACE: place.texts / max(now - self.since, 1e-9),
        }
        self.progress.on_log(None, self.state, self.control, logs=logs)
        self.place = place._replace(losses=(), texts=0)
        self.since = now

    def _evaluate(self, step: int) -> None:
        """Measure the held-out part; set the best state so far aside where it is to be kept."""
        evaluate, every = self.course.evaluate, self.course.evaluate_every
        due = bool(every) and step % every == 0
        if evaluate is None or not (due or step == self.steps):
            return
        begun = time.monotonic()
        if self.group.leads:
            self.model.eval()
            figures = evaluate()
            self.progress.on_evaluate(None, self.state, self.control, metrics=figures)
            if self.recipe.early_stopping:
                value = figures[self.recipe.early_stopping]
                best = self.place.best
                if best is None or value > best[0]:
                    checkpoints.save_best(
                        self.folder, self.model, step=step, checkpoint=self.checkpoint
                    )
                    self.place = self.place._replace(best=(value, step), misses=0)
                else:
                    self.place = self.place._replace(misses=self.place.misses + 1)
        misses = agreed(self.place.misses, self.group)
        self.place = self.place._replace(misses=misses)
        self.since += time.monotonic() - begun  # the pace is that of the steps

    def _ended(self) -> bool:
        misses = bool(self.recipe.early_stopping) and self.place.misses >= self.recipe.patience
        return misses or self.place.step >= self.steps or self.control.should_training_stop

    def _keep(self) -> Outcome:
        self.average.stir(self.model)
        best = self.place.best
        if best is None or best[1] == self.place.step or not self.group.leads:
            return Outcome(self.place.step, self.place.step)
        checkpoints.load_best(self.folder, self.model, step=best[1])
        return Outcome(self.place.step, best[1])


def _on(batch: Batch, like: Tensor) -> Batch:
    rows = (column.to(like.device) for column in (batch.text, batch.family, batch.role))
    return Batch(batch.texts, *rows)


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
