"""The losses over families, against the sums of Equation 1 written out."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from training.losses import EQUATION_1, Member, Role, Weights, contrastive, flatten

SIDES = [Role.ANCHOR, Role.PARAPHRASE, Role.HEDGE]
SYMMETRIC = Weights(
    {(a, b): 1.0 for a in SIDES for b in SIDES} | {(Role.NEGATION, Role.NEGATION): 0.5}
)

Families = list[list[Member]]


def family(number: int, *roles: Role) -> list[Member]:
    return [Member(f"{number} {place}", role) for place, role in enumerate([Role.ANCHOR, *roles])]


def embeddings_of(count: int, seed: int = 0) -> torch.Tensor:
    vectors = torch.randn(count, 5, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.normalize(vectors, dim=1)


def written_out(vectors: torch.Tensor, families: Families, scale: float, weights: Weights) -> float:
    """The same, comparison by comparison."""
    places: dict[str, int] = {}
    for members in families:
        for member in members:
            places.setdefault(member.text, len(places))

    def e(a: Member, b: Member) -> float:
        return math.exp(scale * float(vectors[places[a.text]] @ vectors[places[b.text]]))

    losses, total = 0.0, 0.0
    for members in families:
        for query in members:
            own = [m for m in members if (m.role == Role.NEGATION) == (query.role == Role.NEGATION)]
            texts = {m.text for m in own}
            against = [m for m in members if m not in own]
            against += [
                m for other in families if other is not members for m in other
                if m.role != Role.ANCHOR and m.text not in texts
            ]  # fmt: skip
            below = sum(e(query, m) for m in against)
            for positive in own:
                weight = weights.pairs.get((query.role, positive.role), 0.0)
                if weight and positive.text != query.text:
                    value = e(query, positive)
                    losses -= weight * math.log(value / (value + below))
                    total += weight
    return losses / total if total else 0.0


@st.composite
def batches(draw: st.DrawFn) -> Families:
    roles = st.lists(st.sampled_from(list(Role)[1:]), max_size=4)
    return [family(number, *draw(roles)) for number in range(draw(st.integers(1, 4)))]


@settings(max_examples=60, deadline=None)
@given(batches(), st.sampled_from([EQUATION_1, SYMMETRIC]), st.sampled_from([1.0, 20.0]))
def test_every_comparison_counts_once(families: Families, weights: Weights, scale: float) -> None:
    batch = flatten(families)
    vectors = embeddings_of(len(batch.texts))
    found = contrastive(vectors, batch, scale=scale, weights=weights)
    assert float(found) == pytest.approx(
        written_out(vectors, families, scale, weights), rel=1e-4, abs=1e-5
    )


def test_a_text_of_two_families_is_encoded_once_and_never_its_own_negative() -> None:
    shared = Member("the same hedge", Role.HEDGE)
    families = [[*family(number, Role.NEGATION), shared] for number in range(2)]
    batch = flatten(families)
    assert batch.texts.count(shared.text) == 1
    vectors = embeddings_of(len(batch.texts))
    found = contrastive(vectors, batch, scale=5.0, weights=SYMMETRIC)
    assert float(found) == pytest.approx(written_out(vectors, families, 5.0, SYMMETRIC), rel=1e-4)


def test_one_positive_and_one_negative_are_the_papers_equation() -> None:
    members = family(0, Role.HEDGE, Role.NEGATION)
    vectors = embeddings_of(3)
    found = contrastive(vectors, flatten([members]), scale=10.0, weights=EQUATION_1)
    good, bad = (10 * float(vectors[0] @ vectors[place]) for place in (1, 2))
    assert float(found) == pytest.approx(-math.log(math.exp(good) / (math.exp(good) + math.exp(bad))))


@pytest.mark.parametrize("roles", [[], [Role.NEGATION], [Role.HEDGE]])
def test_a_family_without_a_comparison_gives_no_loss_and_finite_gradients(
    roles: list[Role],
) -> None:
    batch = flatten([family(0, *roles)])
    vectors = embeddings_of(len(batch.texts)).requires_grad_()
    loss = contrastive(vectors, batch, scale=20.0, weights=EQUATION_1)
    loss.backward()
    assert float(loss.detach()) == 0.0
    assert vectors.grad is not None and bool(vectors.grad.isfinite().all())


def test_the_order_of_the_families_changes_nothing() -> None:
    families = [family(n, Role.HEDGE, Role.PARAPHRASE, Role.NEGATION) for n in range(3)]
    first, second = flatten(families), flatten(families[::-1])
    vectors = dict(zip(first.texts, embeddings_of(len(first.texts)), strict=True))
    weights = SYMMETRIC._replace(order=1.0)
    losses = [
        contrastive(torch.stack([vectors[t] for t in b.texts]), b, scale=20.0, weights=weights)
        for b in (first, second)
    ]
    assert float(losses[0]) == pytest.approx(float(losses[1]))


def test_order_pulls_paraphrases_before_hedges() -> None:
    batch = flatten([family(0, Role.PARAPHRASE, Role.HEDGE)])
    weights = Weights({}, order=1.0)
    near = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    right = contrastive(near, batch, scale=10.0, weights=weights)
    swapped = contrastive(near[[0, 2, 1]], batch, scale=10.0, weights=weights)
    assert float(right) < 0.01 < 9 < float(swapped)
