"""The contrastive loss over families: Equation 1 of the paper (§3.2), with additions.

Flat triples repeat an anchor for each of its positives and negatives. Here each text of a batch is
encoded once, and all comparisons are computed from the embeddings. Torch is imported inside the
functions that need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from training.losses.families import LEVELS, POSITIVE, Role

if TYPE_CHECKING:
    from torch import Tensor

BIBTEX = """\
@misc{truong2025learning,
  title         = {Learning Robust Negation Text Representations},
  author        = {Truong, Thinh Hung and Verspoor, Karin and Cohn, Trevor and Baldwin, Timothy},
  year          = {2025},
  eprint        = {2507.12782},
  archivePrefix = {arXiv},
  primaryClass  = {cs.CL}
}"""
"""The paper that introduced the method."""

HEDGE_WEIGHT = 1.5
"""Weight of comparisons in which a hedge is a positive; other comparisons have weight 1. The order
penalty pushes hedges away from the anchor, and this weight keeps them on the positive side."""

SCALE, NEGATION_MARGIN, ORDER_WEIGHT = 20.0, 0.12, 0.3
"""The defaults of `FamilyLoss` and of Hedgerow's recipes. The scale is the default of
sentence-transformers' MultipleNegativesRankingLoss. The other two come from a recipe search
(docs/recipe_search.md)."""

ORDER_MARGIN = 0.03
"""The margin, as a difference of cosines, by which each level of an anchor's variants should be
closer to it than the next level. A larger margin pushes hedges down to the negations."""


class Weights(NamedTuple):
    """The weights of the terms of a loss over families; 0 disables a term.

    Attributes:
        pairs: (role of the query, role of the positive) → weight of the comparison.
        room: the margin added to the cosines of the family's negatives (Wang et al. 2018,
            *Additive margin softmax*).
        order: weight of the penalty that keeps an anchor's variants in order: paraphrases closest,
            then hedges, unsupported variants and negations.
        margin: the margin between two consecutive levels, as a difference of cosines.
    """

    pairs: Mapping[tuple[Role, Role], float]
    room: float = 0.0
    order: float = 0.0
    margin: float = ORDER_MARGIN


EQUATION_1 = Weights({(Role.ANCHOR, Role.PARAPHRASE): 1.0, (Role.ANCHOR, Role.HEDGE): 1.0})
"""The comparisons of the paper: the anchor with each positive."""


def weights_for(*, symmetric: bool, negation_margin: float, order_weight: float) -> Weights:
    """The weights of the terms of the loss, from the arguments of `FamilyLoss`."""
    if symmetric:
        positive = [Role.ANCHOR, *POSITIVE]
        pairs = {(query, other): 1.0 for query in positive for other in positive}
        pairs[Role.NEGATION, Role.NEGATION] = 1.0
    else:
        pairs = dict(EQUATION_1.pairs)
    for roles in pairs:
        if Role.HEDGE in roles:
            pairs[roles] *= HEDGE_WEIGHT
    return Weights(pairs, room=negation_margin, order=order_weight)


class Rows(NamedTuple):
    """The members of a batch's families, one per row.

    Attributes:
        text: (rows,) index of each row's text among the embeddings.
        family: (rows,) number of each row's family.
        role: (rows,) ``Role`` of each row's text.
    """

    text: Tensor
    family: Tensor
    role: Tensor


def rows_of(labels: Tensor) -> Rows:
    """The rows of labels that `batches.labelled` made."""
    present = labels[:, :, 0] >= 0
    text, role = labels[present].T
    return Rows(text, present.nonzero()[:, 0], role)


def contrastive(embeddings: Tensor, batch: Rows, *, scale: float, weights: Weights) -> Tensor:
    """The mean over all (query, positive) of -log(e^s(q,p) / (e^s(q,p) + Σ e^s(q,n))).

    s is ``scale`` times the cosine. The negatives n of a query are the texts on the opposite side
    of its own family: negations for affirmative texts, and affirmative texts for negations. `room`
    is added to their cosines. Texts of other families are not negatives, because pushing topics
    apart harms retrieval. The exception is a family without a negation (data mode 'hedging' when
    the data set has no contradiction): its negatives are the variants of all other families. A
    text that also occurs on the query's own side of the family is never a negative. Unsupported
    variants are on neither side of their family; only the order penalty places them.

    Args:
        embeddings: (distinct texts, dimensions), with unit length.
        batch: the text, family and role of each row, on the same device as the embeddings.
        scale: the reciprocal of the temperature.
        weights: the weight of each comparison and term.

    Returns:
        A scalar, which is 0 if no comparison in the batch has a weight.
    """
    import torch

    cosines = (embeddings @ embeddings.T).float()
    similarity = (scale * cosines)[batch.text][:, batch.text]
    same_family = batch.family[:, None] == batch.family
    negation, aside = batch.role == Role.NEGATION, batch.role == Role.UNSUPPORTED
    is_aside = aside[:, None] | aside
    same_side = same_family & (negation[:, None] == negation) & (aside[:, None] == aside)
    same_text = batch.text[:, None] == batch.text
    # Whether the other row's text also occurs on the query's side of its family.
    own_texts = same_side.float() @ same_text.float() > 0
    other_side = same_family & ~same_side & ~is_aside
    has_negation = (same_family & negation).any(dim=1, keepdim=True)
    elsewhere = ~same_family & (batch.role != Role.ANCHOR) & ~has_negation
    negatives = (other_side | elsewhere) & ~own_texts
    nearer = similarity + scale * weights.room * other_side
    against = nearer.masked_fill(~negatives, -torch.inf).logsumexp(dim=1, keepdim=True)
    table = torch.zeros(len(Role), len(Role), device=cosines.device)
    for (query, positive), weight in weights.pairs.items():
        table[query, positive] = weight
    counts = table[batch.role][:, batch.role] * (same_side & ~same_text)
    loss = torch.nn.functional.softplus(against - similarity)
    loss = torch.where(counts > 0, loss * counts, 0.0)  # softplus(-inf) is 0, as it should be
    total = loss.sum() / counts.sum().clamp(min=1e-9)
    if weights.order:
        lacking = _disorder(cosines[batch.text][:, batch.text], batch, weights)
        total = total + weights.order * scale * lacking
    return total


def _disorder(cosines: Tensor, batch: Rows, weights: Weights) -> Tensor:
    """The order penalty: how far consecutive levels fall short of the margin between them.

    For each two consecutive levels in `LEVELS`, the farthest text of the nearer level is compared
    with the nearest text of the farther level. The penalty is the mean over the anchors that have
    both levels, summed over the pairs of levels. Hedges and negations are not compared directly,
    because the contrastive term already separates them. Its negation margin leaves room for
    hedges between paraphrases and negations (docs/recipes.md).

    Args:
        cosines: (rows, rows).
    """
    import torch

    queries = (batch.role == Role.ANCHOR)[:, None] & (batch.family[:, None] == batch.family)
    total = cosines.new_zeros(())
    for level, following in pairwise(LEVELS):
        nearer, farther = queries & (batch.role == level), queries & (batch.role == following)
        farthest = cosines.masked_fill(~nearer, torch.inf).amin(dim=1)
        nearest = cosines.masked_fill(~farther, -torch.inf).amax(dim=1)
        lacking = torch.relu(weights.margin + nearest - farthest)  # relu(-inf) is 0
        total = total + lacking.sum() / (nearer.any(dim=1) & farther.any(dim=1)).sum().clamp(min=1)
    return total
