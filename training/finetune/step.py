"""A step of a training run: the collator for its batch, and the recipe's contrastive loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from db.errors import HedgerowError
from hedgerow.losses.contrastive import Weights, contrastive, weights_for
from hedgerow.losses.families import Batch, Family, Role, flatten
from training.data.families import with_prompts
from training.finetune.setup import Course
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor


# -- collator -------------------------------------------------------------------------------------
#
# The collator that builds a step's batch: families with roles, and texts for distillation.


class FamilyCollator:
    """A data collator: item k of the data set is the number of step k.

    A batch depends only on the seed and the step, so a resumed run sees the same batches.
    """

    def __init__(self, course: Course, recipe: Recipe) -> None:
        self._course, self._recipe = course, recipe

    def __call__(self, items: Sequence[int]) -> dict[str, Any]:
        """The batch of the one step in `items`.

        Returns:
            The fields of `losses.Batch` by name; `step`, the number of the step, from 1 on; and
            `more`, texts whose embeddings distillation compares with the base encoder's.

        Raises:
            HedgerowError: no batch without shared texts is possible.
        """
        (step,) = items
        distillation = self._course.distillation
        more = distillation.draw(step) if distillation else []
        return {"step": step, "more": more, **flatten(self._families(step))._asdict()}

    def _families(self, step: int) -> list[Family]:
        course, recipe = self._course, self._recipe
        rows = course.batches.of(step)
        if not rows:
            raise HedgerowError(
                f"Could not build a batch of {recipe.batch_size} {recipe.rows} without a shared "
                "text; lower batch_size."
            )
        return [with_prompts(row, recipe) for row in rows]


# -- The contrastive loss of a recipe -------------------------------------------------------------
#
# The losses over families are `hedgerow.losses`, which scripts outside Hedgerow use, too. Torch is
# imported inside the functions that compute.


Objective = Callable[["Tensor", Batch], "Tensor"]
"""Takes the embeddings of the batch's distinct texts, of length 1, and the batch. Returns a
scalar."""


def objective(recipe: Recipe, model: SentenceTransformer) -> Objective:
    """The contrastive loss of a recipe, for this model's embeddings."""
    if recipe.loss == "triples":
        return _flat(model, recipe.scale)
    weights = weights_of(recipe)
    return lambda embeddings, batch: contrastive(
        embeddings, batch, scale=recipe.scale, weights=weights
    )


def weights_of(recipe: Recipe) -> Weights:
    """The weights of the comparisons in a loss over families."""
    return weights_for(
        symmetric=recipe.loss == "symmetric",
        negation_margin=recipe.negation_margin,
        order_weight=recipe.order_weight,
    )


def _flat(model: SentenceTransformer, scale: float) -> Objective:
    """MultipleNegativesRankingLoss. The batch's families are an anchor and a positive, most of them
    with a negative.

    The library's columns are the anchors, their positives and the negatives. An anchor is compared
    with all negatives, so the last column may be shorter or missing.
    """
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    loss = MultipleNegativesRankingLoss(model, scale=scale)

    def of(embeddings: Tensor, batch: Batch) -> Tensor:
        anchor, negative = batch.role == Role.ANCHOR, batch.role == Role.NEGATION
        columns = [
            embeddings[batch.text[chosen]]
            for chosen in (anchor, ~(anchor | negative), negative)
            if chosen.any()
        ]
        return loss.compute_loss_from_embeddings(columns, batch.text)

    return of
