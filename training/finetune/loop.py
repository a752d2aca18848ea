"""The loop that trains: steps, checkpoints, and looks at the held-out part on the way.

Torch is imported inside the functions that train.
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from db.errors import HedgerowError
from training.data.antonym_pairs import Opposites
from training.data.sampling import Batches, InContext
from training.finetune import checkpoints
from training.finetune.checkpoints import FOLDERS, Place
from training.finetune.compute.devices import computing
from training.finetune.compute.encoding import can_pack, embed
from training.finetune.compute.processes import ALONE, Group, add_gradients, agreed
from training.finetune.compute.replicas import threads_for
from training.finetune.losses import Batch, Objective, flatten, objective
from training.finetune.optimizer import Descent, lazy_words
from training.finetune.progress import LOGS_PER_RUN, LOSS, PACE, RATE, Progress, diverged, in_words
from training.finetune.weight_average import Soup
from training.recipe.schema import Recipe
from training.retention.distillation import Distillation

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

logger = logging.getLogger(__name__)

Observer = Callable[[int], float]
"""Called with the steps done, the model in evaluation mode; returns the watched figure, of which
more is better."""


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
        observe: looks at the held-out part; None: nobody does.
        observe_every: steps between two looks; there is one at the end, too.
    """

    batches: Batches
    steps: int
    seed: int = 0
    bf16: bool = False
    distillation: Distillation | None = None
    in_context: InContext | None = None
    opposites: Opposites | None = None
    observe: Observer | None = None
    observe_every: int = 0


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
        self.model, self.course, self.recipe = model, course, recipe
        self.folder, self.identity = folder, identity
        self.progress, self.group = progress, group
        self.loss: Objective = objective(recipe, model)
        self.soup = Soup(model, recipe.trainings)
        self.packed = can_pack(model)  # before there are replicas of it
        self.words = lazy_words(model, recipe)
        self.threads = threads_for(model, recipe)
        self.steps = course.steps * recipe.trainings
        self.descent = self._descent()
        self.place = Place()
        self.checkpoint: Place | None = None
        self.since = time.monotonic()

    def run(self) -> Outcome:
        self._go_on()
        while self.place.step < self.steps and not self._ended():
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
            self._look(step)
            self._save(step)
        return self._keep()

    def close(self) -> None:
        if self.threads:
            self.threads.close()

    def _descent(self) -> Descent:
        return Descent(self.model, self.recipe, steps=self.course.steps, words=self.words)

    def _begin(self) -> None:
        """The next training, where one has ended."""
        if self.place.step // self.course.steps > self.soup.added:
            self.soup.add(self.model)
            self.descent = self._descent()

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
                descent=self.descent,
                soup=self.soup,
            )
            logger.info("going on after step %s", self.place.step)
        self.since = time.monotonic() - self.place.seconds
        self.progress.goes_on(self.place.step)
        self.progress.update(self.place.step, self.steps, "training")

    def _save(self, step: int) -> None:
        """A checkpoint where one is due; at the end, too, for what comes after may be cut off."""
        every = self.recipe.checkpoint_every
        last = step == self.steps and self.checkpoint is not None
        if not self.group.leads or not every or (step % every and not last):
            return
        begun = time.monotonic()
        place = self.place._replace(seconds=begun - self.since)
        self.progress.secure()
        checkpoints.save(
            self.folder,
            place=place,
            of=self.identity,
            model=self.model,
            descent=self.descent,
            soup=self.soup,
        )
        self.checkpoint = place
        self.since += time.monotonic() - begun

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
        self.descent.step()
        return float(loss.detach()), len(texts)

    def _report(self, step: int) -> None:
        if not self.group.leads:
            self.place = self.place._replace(losses=(), texts=0)
            return
        self.progress.update(step, self.steps, "training")
        if step % max(1, self.steps // LOGS_PER_RUN) and step < self.steps:
            return
        now, place = time.monotonic(), self.place
        figures = {
            LOSS: sum(place.losses) / len(place.losses),
            RATE: self.descent.rate,
            PACE: place.texts / max(now - self.since, 1e-9),
        }
        for name, value in figures.items():
            self.progress.metric(step, name, value)
        logger.info("step %s of %s: %s", step, self.steps, in_words(figures))
        self.place = place._replace(losses=(), texts=0)
        self.since = now

    def _look(self, step: int) -> None:
        """At the held-out part; the best state so far is set aside where it is to be kept."""
        observe, every = self.course.observe, self.course.observe_every
        due = bool(every) and step % every == 0
        if observe is None or not (due or step == self.steps):
            return
        begun = time.monotonic()
        if self.group.leads:
            self.model.eval()
            value = observe(step)
            if self.recipe.early_stopping:
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
        return bool(self.recipe.early_stopping) and self.place.misses >= self.recipe.patience

    def _keep(self) -> Outcome:
        self.soup.stir(self.model)
        best = self.place.best
        if best is None or best[1] == self.place.step or not self.group.leads:
            return Outcome(self.place.step, self.place.step)
        checkpoints.load_best(self.folder, self.model, step=best[1])
        return Outcome(self.place.step, best[1])


def _on(batch: Batch, like: Tensor) -> Batch:
    rows = (column.to(like.device) for column in (batch.text, batch.family, batch.role))
    return Batch(batch.texts, *rows)
