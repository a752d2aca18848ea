"""The loop that trains on families: batches, steps, checkpoints. What is measured on the way is
asked of an observer.

Torch is imported inside the functions that train.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from training import checkpoints
from training.checkpoints import Place
from training.encoding import embed
from training.losses import Batch, Member, Weights, contrastive, flatten
from training.processes import ALONE, Group, add_gradients
from training.retention import Distillation
from training.watching import Progress, diverged

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor
    from torch.optim import Optimizer
    from torch.optim.lr_scheduler import LRScheduler

MAX_GRADIENT = 1.0
"""Length that a step's gradient is cut to, as in the trainer of transformers."""

LOGS_PER_RUN = 100


class Settings(NamedTuple):
    """What the loop needs of a recipe.

    Attributes:
        batch: families a step.
        steps: of the whole training.
        warmup: steps during which the learning rate rises in a line; then it falls to 0.
        checkpoint_every: steps between checkpoints; 0: none.
        observe_every: steps between looks of the observer; 0: none.
        bf16: whether to compute in bfloat16; the weights stay in float32.
    """

    batch: int
    steps: int
    warmup: int
    learning_rate: float
    weight_decay: float
    scale: float
    weights: Weights
    checkpoint_every: int = 0
    observe_every: int = 0
    bf16: bool = False


Observer = Callable[[int], bool]
"""Called with the steps done, the model in evaluation mode; whether the training shall end."""

Family = Sequence[Member]


def train(
    model: SentenceTransformer,
    families: Sequence[Family],
    *,
    settings: Settings,
    seed: int,
    folder: Path,
    identity: str,
    progress: Progress,
    distillation: Distillation | None = None,
    observe: Observer | None = None,
    in_context: Callable[[Family, random.Random], Family] | None = None,
    group: Group = ALONE,
) -> int:
    """Train the model in place and return the number of steps done in all.

    A training that was cut off goes on from the newest checkpoint in ``folder``.

    Args:
        families: in an order that depends on their texts alone; the seed shuffles it.
        identity: a hash of all that determines the training.
        in_context: sets a family into a passage, or leaves it as it is.

    Raises:
        HedgerowError: a loss or weight that is not finite, or no room for a checkpoint.
        RunCancelled: out of ``progress.check``.
    """
    optimizer, schedule = _optimizer(model, settings)
    place = Place(0)
    if (checkpoint := checkpoints.found(folder, of=identity)) is not None:
        place = checkpoints.load(
            checkpoint, model=model, optimizer=optimizer, schedule=schedule
        )  # fmt: skip
    log_every = max(1, settings.steps // LOGS_PER_RUN)
    losses: list[float] = []
    for step in range(place.step + 1, settings.steps + 1):
        progress.check()
        drawn = _drawn(families, step, batch=settings.batch, seed=seed)
        if in_context:
            chance = random.Random(f"{seed}:context:{step}")
            drawn = [in_context(family, chance) for family in drawn]
        model.train()
        losses.append(_step(model, drawn, step, settings, optimizer, distillation, group))
        schedule.step()
        if not math.isfinite(losses[-1]):
            raise diverged(step, settings.learning_rate)
        if group.leads:
            progress.update(step, settings.steps, "training")
            if step % log_every == 0 or step == settings.steps:
                progress.metric(step, "loss", sum(losses) / len(losses))
                progress.metric(step, "learning_rate", optimizer.param_groups[0]["lr"])
                losses.clear()
        ends = False
        if observe and settings.observe_every and step % settings.observe_every == 0:
            model.eval()
            ends = observe(step)
        if settings.checkpoint_every and step % settings.checkpoint_every == 0 and group.leads:
            checkpoints.save(
                folder, place=Place(step), of=identity, model=model, optimizer=optimizer,
                schedule=schedule,
            )  # fmt: skip
        if ends:
            return step
    return settings.steps


def _drawn(families: Sequence[Family], step: int, *, batch: int, seed: int) -> list[Family]:
    """The families of a step: each epoch goes through all of them in an order of its own."""
    per_epoch = len(families) // batch
    epoch, place = divmod(step - 1, per_epoch)
    order = list(range(len(families)))
    random.Random(f"{seed}:{epoch}").shuffle(order)
    return [families[number] for number in order[place * batch : (place + 1) * batch]]


def _step(
    model: SentenceTransformer,
    families: Sequence[Family],
    step: int,
    settings: Settings,
    optimizer: Optimizer,
    distillation: Distillation | None,
    group: Group,
) -> float:
    import torch

    batch = flatten(families)
    more = distillation.draw(step) if distillation else []
    texts = list(dict.fromkeys([*batch.texts, *more]))
    with torch.autocast(model.device.type, dtype=torch.bfloat16, enabled=settings.bf16):
        embeddings = embed(model, texts, group=group)
    loss = contrastive(
        embeddings[: len(batch.texts)], _on(batch, embeddings), scale=settings.scale,
        weights=settings.weights,
    )  # fmt: skip
    if distillation:
        places = {text: number for number, text in enumerate(texts)}
        loss = loss + distillation.loss(embeddings[[places[text] for text in more]], more)
    loss.backward()
    add_gradients(model.parameters(), group)
    torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_GRADIENT)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return float(loss.detach())


def _on(batch: Batch, like: Tensor) -> Batch:
    rows = (column.to(like.device) for column in (batch.text, batch.family, batch.role))
    return Batch(batch.texts, *rows)


def _optimizer(model: SentenceTransformer, settings: Settings) -> tuple[Optimizer, LRScheduler]:
    """AdamW with a linear schedule; biases and normalisations do not decay, as usual."""
    import torch

    weights = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in weights if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in weights if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate)
    rise, all_ = settings.warmup, settings.steps

    def factor(done: int) -> float:
        if done < rise:
            return (done + 1) / rise
        return max(0.0, (all_ - done) / max(1, all_ - rise))

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def epochs(families: int, *, batch: int, steps: int) -> Iterator[int]:
    """The steps after which an epoch is complete."""
    per_epoch = max(1, families // batch)
    yield from range(per_epoch, steps + 1, per_epoch)
