"""A step of a training run: the collator for its batch, and its loss.

The losses over families are `training.losses`, which scripts outside Hedgerow use, too. This module
loads PyTorch: import it inside the functions that train.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch  # noqa: TID253  (the base classes)
from sentence_transformers.sentence_transformer.losses import (  # noqa: TID253
    MultipleNegativesRankingLoss,
)

from db.errors import HedgerowError
from training.data.families import with_prompts
from training.finetune.compute.devices import computing
from training.finetune.compute.processes import Group
from training.finetune.compute.replicas import Threads, threads_for
from training.finetune.compute.text_encoding import can_pack, embed
from training.finetune.setup import Course
from training.losses.batches import labelled  # noqa: TID253
from training.losses.contrastive import rows_of
from training.losses.families import Role
from training.losses.family_loss import FamilyLoss  # noqa: TID253
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor


class StepCollator:
    """A data collator: item k of the data set is the number of step k.

    A batch depends only on the seed and the step, so a resumed run sees the same batches.
    """

    def __init__(self, course: Course, recipe: Recipe) -> None:
        self._course, self._recipe = course, recipe

    def __call__(self, items: Sequence[int]) -> dict[str, Any]:
        """The batch of the one step in `items`. `StepLoss` tokenizes its texts, without padding.

        Returns:
            `step`, the number of the step, from 1 on; `texts` and `label`, the distinct texts of
            the families and the labels for `FamilyLoss`; and `more`, texts whose embeddings
            distillation compares with the base encoder's.

        Raises:
            HedgerowError: no batch without shared texts is possible.
        """
        (step,) = items
        recipe, distillation = self._recipe, self._course.distillation
        rows = self._course.batches.rows_at(step)
        if not rows:
            raise HedgerowError(
                f"Could not build a batch of {recipe.batch_size} {recipe.rows} without a shared "
                "text; lower batch_size."
            )
        distinct, label = labelled([with_prompts(row, recipe) for row in rows])
        more = distillation.draw(step) if distillation else []
        return {"step": step, "texts": [text for _, text in distinct], "label": label, "more": more}


class TripleLoss(MultipleNegativesRankingLoss):
    """MultipleNegativesRankingLoss for families of an anchor and a positive, most of them with a
    negative."""

    def compute_loss_from_embeddings(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """The loss from embeddings and labels as in `FamilyLoss.compute_loss_from_embeddings`.

        The library's columns are the anchors, their positives and the negatives. An anchor is
        compared with all negatives, so the last column may be shorter or missing.
        """
        batch = rows_of(labels)
        anchor, negative = batch.role == Role.ANCHOR, batch.role == Role.NEGATION
        columns = [
            embeddings[batch.text[chosen]]
            for chosen in (anchor, ~(anchor | negative), negative)
            if chosen.any()
        ]
        return super().compute_loss_from_embeddings(columns, labels)


def objective(recipe: Recipe, model: SentenceTransformer) -> FamilyLoss | TripleLoss:
    """The contrastive loss of a recipe, for this model's embeddings."""
    if recipe.loss == "triples":
        return TripleLoss(model, scale=recipe.scale)
    return FamilyLoss(
        model,
        scale=recipe.scale,
        negation_margin=recipe.negation_margin,
        order_weight=recipe.order_weight,
        symmetric=recipe.loss == "symmetric",
    )


class StepLoss(torch.nn.Module):
    """The loss of a step, over embeddings that all threads and processes compute together."""

    def __init__(
        self,
        model: SentenceTransformer,
        course: Course,
        recipe: Recipe,
        check: Callable[[], None],
        group: Group,
    ) -> None:
        super().__init__()
        self.model, self.course, self.check, self.group = model, course, check, group
        self.objective = objective(recipe, model)
        self.packed = can_pack(model)  # before it is replicated
        self.threads: Threads | None = threads_for(model, recipe)

    def close(self) -> None:
        """Stop the threads."""
        if self.threads:
            self.threads.close()

    def forward(self, inputs: dict[str, Any]) -> Tensor:
        """The loss of a batch that `StepCollator` made, a scalar."""
        more, distillation = inputs["more"], self.course.distillation
        texts = list(dict.fromkeys([*inputs["texts"], *more]))
        # By the step, so that a resumed run has the same dropout as an uninterrupted one.
        chance = random.Random(f"{self.course.seed}:dropout:{inputs['step']}:{self.group.rank}")
        torch.manual_seed(chance.getrandbits(63))
        with computing(self.model, bf16=self.course.bf16):
            embeddings = embed(
                self.model,
                texts,
                packed=self.packed,
                group=self.group,
                threads=self.threads,
                check=self.check,
            )
        loss = self.objective.compute_loss_from_embeddings(
            embeddings[: len(inputs["texts"])], inputs["label"].to(embeddings.device)
        )
        if distillation and more:
            place = {text: number for number, text in enumerate(texts)}
            loss = loss + distillation.loss(embeddings[[place[text] for text in more]], more)
        self.check()
        # It has no gradient if another process has all the texts.
        return loss if loss.requires_grad else loss.requires_grad_()
