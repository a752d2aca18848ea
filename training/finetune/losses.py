"""The contrastive losses over families: an anchor with all its accepted variants.

Flat triples repeat an anchor for every positive and negative of it. Here each text of a batch is
encoded once, and every comparison of the paper's Equation 1 (§3.2) is formed from the embeddings.
Torch is imported inside the functions that compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor


class Role(IntEnum):
    """What a text is to its family's anchor."""

    ANCHOR = 0
    PARAPHRASE = 1
    HEDGE = 2
    UNSUPPORTED = 3
    NEGATION = 4


HEDGE_WEIGHT = 1.5
"""Of a comparison that has a hedge on the positive side, where the others count 1: the order of the
levels pushes hedges away, and this holds them on the side of what says the same."""

ORDER_MARGIN = 0.03
"""By how much, as a difference of cosines, each level of an anchor's variants should be nearer to
it than the next level. A larger one pushes hedges down among the negations."""

POSITIVE = (Role.PARAPHRASE, Role.HEDGE)
"""The roles that say the same proposition as the anchor."""

LEVELS = (Role.PARAPHRASE, Role.HEDGE, Role.UNSUPPORTED, Role.NEGATION)
"""The roles of variants, from the one that is to be nearest to its anchor."""


class Member(NamedTuple):
    """A text of a family.

    Attributes:
        type_id: of a variant.
        source: of an anchor: the name of its source.
    """

    text: str
    role: Role
    type_id: str = ""
    source: str = ""


Family = Sequence[Member]
"""The anchor, then its variants."""


class Batch(NamedTuple):
    """The families of a step, flattened: a row an occurrence, each pointing to a distinct text.

    Attributes:
        texts: the distinct texts; embeddings are given in their order.
        text: (rows,) place of each row's text among them.
        family: (rows,) number of each row's family.
        role: (rows,) its ``Role``.
    """

    texts: list[str]
    text: Tensor
    family: Tensor
    role: Tensor


def flatten(families: Sequence[Family]) -> Batch:
    """The batch of these families, on the CPU."""
    import torch

    places: dict[str, int] = {}
    rows = [
        (places.setdefault(member.text, len(places)), number, int(member.role))
        for number, members in enumerate(families)
        for member in members
    ]
    text, family, role = torch.tensor(rows, dtype=torch.long).T
    return Batch(list(places), text, family, role)


class Weights(NamedTuple):
    """What the parts of a loss over families count; 0 leaves a part out.

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


Objective = Callable[["Tensor", Batch], "Tensor"]
"""(embeddings of the batch's distinct texts, of length 1; the batch) → a scalar."""


def objective(recipe: Recipe, model: SentenceTransformer) -> Objective:
    """The contrastive loss that a recipe asks for, over this model's embeddings."""
    if recipe.loss == "triples":
        return _flat(model, recipe.scale)
    weights = weights_of(recipe)
    return lambda embeddings, batch: contrastive(
        embeddings, batch, scale=recipe.scale, weights=weights
    )


def weights_of(recipe: Recipe) -> Weights:
    """What the comparisons of a loss over families count."""
    if recipe.loss == "family":
        pairs = dict(EQUATION_1.pairs)
    else:
        positive = [Role.ANCHOR, *POSITIVE]
        pairs = {(query, other): 1.0 for query in positive for other in positive}
        pairs[Role.NEGATION, Role.NEGATION] = 1.0
    for roles in pairs:
        if Role.HEDGE in roles:
            pairs[roles] *= HEDGE_WEIGHT
    return Weights(pairs, room=recipe.negation_margin, order=recipe.order_weight)


def _flat(model: SentenceTransformer, scale: float) -> Objective:
    """MultipleNegativesRankingLoss; the batch's families are an anchor and a positive, most of them
    with a negative.

    The library's columns are the anchors, their positives and the negatives there are: an anchor is
    compared with all of them, so that the last column may be shorter, or missing.
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
