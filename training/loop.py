"""The loop that trains: steps, checkpoints, and looks at the held-out part on the way.

Torch is imported inside the functions that train.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from db.errors import HedgerowError
from training import checkpoints
from training.batches import Batches, InContext
from training.checkpoints import Place
from training.encoding import embed
from training.losses import Batch, Objective, flatten, objective
from training.processes import ALONE, Group, add_gradients, agreed
from training.recipe import Recipe
from training.retention import Distillation
from training.watching import LOGS_PER_RUN, LOSS, PACE, RATE, Progress, diverged

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor
    from torch.optim import Optimizer
    from torch.optim.lr_scheduler import LRScheduler

MAX_GRADIENT = 1.0
"""Length that a step's gradient is cut to, as in the trainer of transformers."""

Observer = Callable[[int], float]
"""Called with the steps done, the model in evaluation mode; returns the watched figure, of which
more is better."""


class Course(NamedTuple):
    """What a training goes through.

    Attributes:
        batches: the rows of each step.
        steps: of the whole training.
        bf16: whether to compute in bfloat16; the weights stay in float32.
        distillation: None without.
        in_context: sets rows into passages; None: leaves them as they are.
        observe: looks at the held-out part; None: nobody does.
        observe_every: steps between two looks; there is one at the end, too.
    """

    batches: Batches
    steps: int
    bf16: bool = False
    distillation: Distillation | None = None
    in_context: InContext | None = None
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
        identity: a hash of all that determines the training.

    Raises:
        HedgerowError: a loss or weight that is not finite, or no room for a checkpoint.
        RunCancelled: out of ``progress.check``.
    """
    training = _Training(model, course, recipe, folder, identity, progress, group)
    return training.run()


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
        self.optimizer, self.schedule = _optimizer(model, recipe, course.steps)
        self.place = Place(0)
        self.losses: list[float] = []
        self.texts, self.since = 0, time.monotonic()

    def run(self) -> Outcome:
        self._go_on()
        while self.place.step < self.course.steps and not self._ended():
            step = self.place.step + 1
            self.losses.append(self._step(step))
            self.schedule.step()
            if not math.isfinite(self.losses[-1]):
                raise diverged(step, self.recipe)
            self.place = self.place._replace(step=step)
            self._report(step)
            self._look(step)
            every = self.recipe.checkpoint_every
            if every and step % every == 0 and step < self.course.steps and self.group.leads:
                self._save()
        return self._keep()

    def _go_on(self) -> None:
        """From the newest checkpoint, or from the beginning."""
        found = checkpoints.found(self.folder, of=self.identity)
        if found is not None:
            self.place = checkpoints.load(
                found, model=self.model, optimizer=self.optimizer, schedule=self.schedule
            )
            return
        checkpoints.remove(self.folder)
        self.progress.update(0, self.course.steps, "training")

    def _save(self) -> None:
        checkpoints.save(
            self.folder, place=self.place, of=self.identity, model=self.model,
            optimizer=self.optimizer, schedule=self.schedule,
        )  # fmt: skip

    def _step(self, step: int) -> float:
        import torch

        rows = self.course.batches.of(step)
        if not rows:
            raise HedgerowError(
                f"No batch of {self.recipe.batch_size} {self.recipe.rows} without a common text "
                "could be made; lower batch_size."
            )
        if self.course.in_context:
            rows = self.course.in_context(rows, step)
        batch = flatten(rows)
        distillation = self.course.distillation
        more = distillation.draw(step) if distillation else []
        texts = list(dict.fromkeys([*batch.texts, *more]))
        self.texts += len(texts)
        self.model.train()
        device = self.model.device.type
        with torch.autocast(device, dtype=torch.bfloat16, enabled=self.course.bf16):
            embeddings = embed(self.model, texts, group=self.group, check=self.progress.check)
        loss = self.loss(embeddings[: len(batch.texts)], _on(batch, embeddings))
        if distillation:
            place = {text: number for number, text in enumerate(texts)}
            loss = loss + distillation.loss(embeddings[[place[text] for text in more]], more)
        self.progress.check()
        loss.backward()
        self.progress.check()
        add_gradients(self.model.parameters(), self.group)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), MAX_GRADIENT)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    def _report(self, step: int) -> None:
        if not self.group.leads:
            return
        self.progress.update(step, self.course.steps, "training")
        if step % max(1, self.course.steps // LOGS_PER_RUN) and step < self.course.steps:
            return
        now = time.monotonic()
        self.progress.metric(step, LOSS, sum(self.losses) / len(self.losses))
        self.progress.metric(step, RATE, self.optimizer.param_groups[0]["lr"])
        self.progress.metric(step, PACE, self.texts / max(now - self.since, 1e-9))
        self.losses.clear()
        self.texts, self.since = 0, now

    def _look(self, step: int) -> None:
        """At the held-out part; the best state so far is set aside where it is to be kept."""
        observe, every = self.course.observe, self.course.observe_every
        due = bool(every) and step % every == 0
        if observe is None or not (due or step == self.course.steps):
            return
        if self.group.leads:
            self.model.eval()
            value = observe(step)
            if self.recipe.early_stopping:
                best = self.place.best
                if best is None or value > best[0]:
                    checkpoints.save_best(self.folder, self.model)
                    self.place = self.place._replace(best=(value, step), misses=0)
                else:
                    self.place = self.place._replace(misses=self.place.misses + 1)
        misses = agreed(self.place.misses, self.group)
        self.place = self.place._replace(misses=misses)
        self.since = time.monotonic()

    def _ended(self) -> bool:
        return bool(self.recipe.early_stopping) and self.place.misses >= self.recipe.patience

    def _keep(self) -> Outcome:
        best = self.place.best
        if best is None or best[1] == self.place.step:
            return Outcome(self.place.step, self.place.step)
        checkpoints.load_best(self.folder, self.model)
        return Outcome(self.place.step, best[1])


def _on(batch: Batch, like: Tensor) -> Batch:
    rows = (column.to(like.device) for column in (batch.text, batch.family, batch.role))
    return Batch(batch.texts, *rows)


def _optimizer(
    model: SentenceTransformer, recipe: Recipe, steps: int
) -> tuple[Optimizer, LRScheduler]:
    """AdamW with a linear schedule; biases and normalisations do not decay, as usual."""
    import torch
    from transformers import get_linear_schedule_with_warmup

    weights = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in weights if p.ndim > 1], "weight_decay": recipe.weight_decay},
        {"params": [p for p in weights if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(
        [group for group in groups if group["params"]], lr=recipe.learning_rate
    )
    warmup = round(recipe.warmup_ratio * steps)
    return optimizer, get_linear_schedule_with_warmup(optimizer, warmup, steps)
