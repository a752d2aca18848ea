"""The contrastive loss of a recipe.

The losses over families are `hedgerow.losses`, which scripts outside Hedgerow use, too. Torch is
imported inside the functions that compute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hedgerow.losses.contrastive import Weights, contrastive, weights_for
from hedgerow.losses.families import Batch, Role
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

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
