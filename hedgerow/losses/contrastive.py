"""The contrastive loss over families: the paper's Equation 1 (§3.2), with additions.

Flat triples repeat an anchor for every positive and negative of it. Here each text of a batch is
encoded once, and every comparison is formed from the embeddings. Torch is imported inside the
functions that compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from hedgerow.losses.families import LEVELS, POSITIVE, Batch, Role

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
"""The paper of the method."""

HEDGE_WEIGHT = 1.5
"""Weight of a comparison with a hedge on the positive side; the others have weight 1. The order of
the levels pushes hedges away, and this weight keeps them on the positive side."""

SCALE, NEGATION_MARGIN, ORDER_WEIGHT = 20.0, 0.12, 0.3
"""The defaults of `FamilyLoss` and of Hedgerow's recipes. The scale is the default of
sentence-transformers' MultipleNegativesRankingLoss. The others come from trials
(docs/recipe_search.md)."""

ORDER_MARGIN = 0.03
"""The margin, as a difference of cosines, by which each level of an anchor's variants should be
closer to it than the next level. A larger margin pushes hedges down to the negations."""


class Weights(NamedTuple):
    """The weights of the parts of a loss over families; 0 switches a part off.

    Attributes:
        pairs: (query's role, positive's role) → weight of the comparison.
        room: what is added to the cosines of the family's other side, which are to be so much
            lower (Wang et al. 2018, *Additive margin softmax*).
        order: of having an anchor's paraphrases nearer to it than its hedges, these nearer than
            what leaves its claim open, and that nearer than its negations.
        margin: by how much, as a difference of cosines.
    """

    pairs: Mapping[tuple[Role, Role], float]
    room: float = 0.0
    order: float = 0.0
    margin: float = ORDER_MARGIN


EQUATION_1 = Weights({(Role.ANCHOR, Role.PARAPHRASE): 1.0, (Role.ANCHOR, Role.HEDGE): 1.0})
"""The paper's comparisons: the anchor with each positive."""


def weights_for(*, symmetric: bool, negation_margin: float, order_weight: float) -> Weights:
    """The weights of the parts of the loss, from the arguments of `FamilyLoss`."""
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


def contrastive(embeddings: Tensor, batch: Batch, *, scale: float, weights: Weights) -> Tensor:
    """The mean over all (query, positive) of -log(e^s(q,p) / (e^s(q,p) + Σ e^s(q,n))).

    s is ``scale`` times the cosine. The negatives n of a query are the texts of the other side of
    its own family: negations for the affirmative side, and the other way round; their cosines plus
    `room`. Other families are no negatives, since pushing topics apart is what costs retrieval.
    Only a family without a negation (data mode 'hedging', where there is no original contradiction)
    has nothing else to be compared with, so its negatives are the variants of all other families.
    A text that the query's own side of the family has, too, is never a negative. What leaves the
    claim open is on neither side of its own family: only the order of the levels says where it
    belongs.

    Args:
        embeddings: (distinct texts, dimensions), of length 1.
        batch: which text is what in which family, on the embeddings' device.
        scale: the reciprocal of the temperature.
        weights: which comparisons count, and how much.

    Returns:
        A scalar; 0 where the batch has no comparison that counts.
    """
    import torch

    cosines = (embeddings @ embeddings.T).float()
    similarity = (scale * cosines)[batch.text][:, batch.text]
    same_family = batch.family[:, None] == batch.family
    negation, aside = batch.role == Role.NEGATION, batch.role == Role.UNSUPPORTED
    is_aside = aside[:, None] | aside
    same_side = same_family & (negation[:, None] == negation) & (aside[:, None] == aside)
    same_text = batch.text[:, None] == batch.text
    # Whether the query's side of its family has the text of the other row (its own is among them).
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


def _disorder(cosines: Tensor, batch: Batch, weights: Weights) -> Tensor:
    """By how much each level of an anchor's variants lacks the margin to the next one.

    Of two levels that follow each other in `LEVELS`, the farthest text of the nearer one is
    compared with the nearest of the farther one: the mean over the anchors that have both, added
    up over the pairs of levels. Hedges and negations are compared only through what leaves the
    claim open: between them is the contrast itself. Where the negations are given no room, hedges
    that are pushed away end up among them (docs/recipe_search.md).

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
