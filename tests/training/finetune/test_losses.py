"""The losses over families, compared with the sums of Equation 1 written out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.support.lazily import Lazily
from training.losses.contrastive import (
    EQUATION_1,
    HEDGE_WEIGHT,
    ORDER_MARGIN,
    Weights,
    contrastive,
    rows_of,
)
from training.losses.families import LEVELS, Member, Role
from training.recipe.schema import Recipe

torch = Lazily("torch")

SIDES = [Role.ANCHOR, Role.PARAPHRASE, Role.HEDGE]
SYMMETRIC = Weights(
    {(a, b): 1.0 for a in SIDES for b in SIDES} | {(Role.NEGATION, Role.NEGATION): 0.5}
)

Families = list[list[Member]]


def family(number: int, *roles: Role) -> list[Member]:
    return [Member(f"{number} {place}", role) for place, role in enumerate([Role.ANCHOR, *roles])]


def of_texts(vectors: torch.Tensor, families: Families, scale: float, weights: Weights) -> Any:
    """The loss over families from the embeddings of their distinct texts."""
    return contrastive(vectors, rows_of(labels_of(families)), scale=scale, weights=weights)


def labels_of(families: Families) -> torch.Tensor:
    from training.losses.batches import labelled

    return labelled(families)[1]


def texts_of(families: Families) -> list[str]:
    return list(dict.fromkeys(member.text for members in families for member in members))


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

    lost, total = 0.0, 0.0
    for members in families:
        for query in members:
            own = [m for m in members if side(m) == side(query)]
            against = [m for m in members if {side(m), side(query)} == {"+", "-"}]
            if all(m.role != Role.NEGATION for m in members):
                against += [
                    m
                    for other in families
                    if other is not members
                    for m in other
                    if m.role != Role.ANCHOR
                ]
            own_texts = {m.text for m in own}
            below = sum(e(query, m) for m in against if m.text not in own_texts)
            for positive in own:
                weight = weights.pairs.get((query.role, positive.role), 0.0)
                if weight and positive.text != query.text:
                    value = e(query, positive)
                    lost -= weight * math.log(value / (value + below))
                    total += weight
    order = 0.0
    for level, following in pairwise(LEVELS):
        lacking = []
        for members in families:
            near, far = (
                [math.log(e(members[0], m)) / scale for m in members if m.role == role]
                for role in (level, following)
            )
            if near and far:
                lacking.append(max(0.0, weights.margin + max(far) - min(near)))
        order += sum(lacking) / len(lacking) if lacking else 0.0
    return (lost / total if total else 0.0) + weights.order * scale * order


def side(member: Member) -> str:
    """Which side of a family a text is on. A text that leaves the claim open is on neither side."""
    return {Role.NEGATION: "-", Role.UNSUPPORTED: "0"}.get(member.role, "+")


@st.composite
def batches(draw: st.DrawFn) -> Families:
    """Families. Some share a text."""
    roles = st.lists(st.sampled_from(list(Role)[1:]), max_size=4)
    families = [family(number, *draw(roles)) for number in range(draw(st.integers(1, 4)))]
    for members in families:
        if draw(st.booleans()):
            members.append(Member("shared", draw(st.sampled_from(list(Role)[1:]))))
    return families


@pytest.mark.slow
@given(
    batches(),
    st.sampled_from([EQUATION_1, SYMMETRIC, SYMMETRIC._replace(order=0.5, margin=0.1)]),
    st.sampled_from([1.0, 20.0]),
)
def test_every_comparison_counts_once(families: Families, weights: Weights, scale: float) -> None:
    vectors = embeddings_of(len(texts_of(families)))
    found = of_texts(vectors, families, scale, weights)
    assert float(found) == pytest.approx(
        written_out(vectors, families, scale, weights), rel=1e-4, abs=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("roles", [[], [Role.NEGATION], [Role.HEDGE]])
def test_a_family_without_a_comparison_gives_no_loss_and_finite_gradients(
    roles: list[Role],
) -> None:
    vectors = embeddings_of(1 + len(roles)).requires_grad_()
    loss = of_texts(vectors, [family(0, *roles)], 20.0, EQUATION_1)
    loss.backward()
    assert float(loss.detach()) == 0.0
    assert vectors.grad is not None and bool(vectors.grad.isfinite().all())


def test_open_claims_come_between_hedges_and_negations() -> None:
    """A separate level: unlike a negation, it is not pushed away, and unlike a hedge, not pulled
    closer."""
    members = family(0, Role.HEDGE, Role.UNSUPPORTED, Role.NEGATION)
    weights = Weights({}, order=1.0, margin=0.05)
    angles = {"right": (0.2, 0.6, 1.2), "too near": (0.6, 0.2, 1.2), "too far": (0.2, 1.2, 0.6)}
    found = {}
    for name, (hedge, unsupported, negation) in angles.items():
        at = torch.tensor([0.0, hedge, unsupported, negation])
        vectors = torch.stack([at.cos(), at.sin()], dim=1)
        found[name] = float(of_texts(vectors, [members], 1.0, weights))
    assert found["right"] == 0 and found["too near"] > 0 and found["too far"] > 0


def test_order_draws_paraphrases_nearer_and_pushes_hedges_away() -> None:
    members = family(0, Role.PARAPHRASE, Role.HEDGE)
    vectors = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]], requires_grad=True)
    weights = Weights({}, order=1.0, margin=0.05)
    of_texts(vectors, [members], 1.0, weights).backward()
    assert vectors.grad is not None and vectors.grad[1].tolist() == [-1.0, 0.0]
    assert vectors.grad[2].tolist() == [1.0, 0.0]


def test_room_counts_an_anchors_own_negations_as_nearer_than_they_are() -> None:
    """As if their cosines were larger by the margin."""
    rows = [family(n, Role.PARAPHRASE, Role.NEGATION) for n in range(2)]
    vectors = embeddings_of(len(texts_of(rows)))
    pairs = {(Role.ANCHOR, Role.PARAPHRASE): 1.0}
    found = of_texts(vectors, rows, 10.0, Weights(pairs, room=0.3))
    cosine = (vectors @ vectors.T).tolist()
    expected = [
        math.log(1 + math.exp(10 * (cosine[anchor][anchor + 2] + 0.3 - cosine[anchor][anchor + 1])))
        for anchor in (0, 3)
    ]
    assert float(found) == pytest.approx(sum(expected) / 2, rel=1e-5)


LIKE_TRIPLES = Recipe(loss="family", order_weight=0, negation_margin=0)


def with_gradient(
    families: Families, loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> tuple[float, torch.Tensor]:
    """A loss, and its gradient with respect to the encoder's output before normalisation."""
    raw = (1.5 * embeddings_of(len(texts_of(families)))).requires_grad_()
    value = loss(torch.nn.functional.normalize(raw, dim=1), labels_of(families))
    value.backward()
    assert raw.grad is not None
    return float(value.detach()), raw.grad


def objective_of(recipe: Recipe) -> Any:
    from training.finetune.step import objective

    return objective(recipe, None)  # type: ignore[arg-type]


def ours(recipe: Recipe, families: Families) -> tuple[float, torch.Tensor]:
    return with_gradient(families, objective_of(recipe).compute_loss_from_embeddings)


def librarys(
    families: Families, scale: float, *columns: Sequence[Role]
) -> tuple[float, torch.Tensor]:
    """sentence-transformers' loss on columns of the texts that have one of these roles."""
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    def loss(vectors: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        batch = rows_of(labels)
        rows = list(zip(batch.text.tolist(), batch.role.tolist(), strict=True))
        chosen = [vectors[[place for place, role in rows if role in roles]] for roles in columns]
        library = MultipleNegativesRankingLoss(None, scale=scale)  # type: ignore[arg-type]
        return library.compute_loss_from_embeddings(chosen, torch.empty(0))

    return with_gradient(families, loss)


def assert_same(first: tuple[float, torch.Tensor], second: tuple[float, torch.Tensor]) -> None:
    assert first[0] == pytest.approx(second[0], rel=1e-5) and first[0] > 0
    torch.testing.assert_close(first[1], second[1], atol=1e-5, rtol=1e-4)


ANCHOR, POSITIVE, NEGATIVE = [Role.ANCHOR], [Role.HEDGE, Role.PARAPHRASE], [Role.NEGATION]


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "scale"), [(1, 5.0), (7, 20.0)])
def test_one_positive_and_one_negative_each_are_the_librarys_loss(rows: int, scale: float) -> None:
    """MultipleNegativesRankingLoss, in value and gradient. 'family' compares within each row
    only."""
    kinds = (Role.HEDGE, Role.PARAPHRASE)
    families = [family(n, kinds[n % 2], Role.NEGATION) for n in range(rows)]
    flat = LIKE_TRIPLES.with_overrides(["loss=triples", f"scale={scale}"])
    assert_same(ours(flat, families), librarys(families, scale, ANCHOR, POSITIVE, NEGATIVE))
    alone = LIKE_TRIPLES.with_overrides([f"scale={scale}"])
    for row in families:
        assert_same(ours(alone, [row]), librarys([row], scale, ANCHOR, POSITIVE, NEGATIVE))


@pytest.mark.slow
def test_pairs_are_compared_with_other_anchors_alone() -> None:
    families = [family(n, Role.HEDGE) for n in range(5)]
    expected = librarys(families, 20.0, ANCHOR, POSITIVE)
    for loss in ("family", "triples"):
        recipe = LIKE_TRIPLES.with_overrides([f"loss={loss}", "scale=20"])
        assert_same(ours(recipe, families), expected)


@pytest.mark.slow
def test_flat_triples_and_pairs_in_one_batch_are_compared_with_all_there_is() -> None:
    """As if only some anchors have an original contradiction (data mode 'hedging')."""
    families = [family(n, Role.HEDGE, *([Role.NEGATION] if n % 3 else [])) for n in range(6)]
    found = ours(LIKE_TRIPLES.with_overrides(["loss=triples", "scale=5"]), families)
    assert_same(found, librarys(families, 5.0, ANCHOR, POSITIVE, NEGATIVE))


def test_the_recipe_says_what_comparisons_count() -> None:
    recipe = Recipe(loss="symmetric", order_weight=2, negation_margin=0.07)
    weights = objective_of(recipe).weights
    assert (weights.room, weights.order, weights.margin) == (0.07, 2, ORDER_MARGIN)
    assert weights.pairs[Role.NEGATION, Role.NEGATION] == 1
    for query in SIDES:
        for positive in SIDES:
            expected = HEDGE_WEIGHT if Role.HEDGE in (query, positive) else 1
            assert weights.pairs[query, positive] == expected
    assert len(weights.pairs) == 10 and objective_of(LIKE_TRIPLES).weights.order == 0
    assert objective_of(recipe.with_overrides(["loss=family"])).weights.pairs == {
        (Role.ANCHOR, Role.PARAPHRASE): 1,
        (Role.ANCHOR, Role.HEDGE): HEDGE_WEIGHT,
    }


def test_a_weight_of_nothing_leaves_the_comparison_out(monkeypatch: pytest.MonkeyPatch) -> None:
    families = [family(0, Role.PARAPHRASE, Role.NEGATION, Role.HEDGE)]
    monkeypatch.setattr("training.losses.contrastive.HEDGE_WEIGHT", 0.0)
    value, gradient = ours(LIKE_TRIPLES, families)
    assert value > 0 and float(gradient[1].abs().sum()) > 0 and float(gradient[3].abs().sum()) == 0


def test_a_batch_points_each_row_to_its_text() -> None:
    families = [[*family(n, Role.HEDGE), Member("shared", Role.NEGATION)] for n in range(2)]
    batch, texts = rows_of(labels_of(families)), texts_of(families)
    rows = [member for members in families for member in members]
    assert [texts[place] for place in batch.text] == [member.text for member in rows]
    assert batch.role.tolist() == [member.role for member in rows]
    assert batch.family.tolist() == [0, 0, 0, 1, 1, 1]
    assert len(texts) == 5
