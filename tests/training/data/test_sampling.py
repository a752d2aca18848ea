"""The batches: full, without repeated texts among triples, the same at every call; families in
passes."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.losses.families import Family, Member, Role
from tests.training.support.trainings import FAMILIES
from training.data.sampling import (
    Batches,
    Epochs,
    FamilyBatches,
    TripleBatches,
    as_triples,
    count_triples,
    rows_in_an_epoch,
)

TRIPLES = as_triples(FAMILIES)
ROLES = list(Role)[1:]


def texts(row: Family) -> list[str]:
    return [member.text for member in row]


@pytest.mark.parametrize("kind", [FamilyBatches, TripleBatches])
def test_a_step_has_the_same_batch_however_it_is_reached(kind: type[Batches]) -> None:
    rows = TRIPLES if kind is TripleBatches else FAMILIES
    straight, jumping = (kind(rows, size=4, seed=3) for _ in range(2))  # type: ignore[call-arg]
    other = kind(rows, size=4, seed=4)  # type: ignore[call-arg]
    steps = range(1, 3 * (len(rows) // 4) + 1)
    found = {step: straight.of(step) for step in steps}
    assert {step: jumping.of(step) for step in reversed(steps)} == found
    assert {step: other.of(step) for step in steps} != found
    assert all(len(batch) == 4 for batch in found.values())


def test_an_epoch_takes_each_family_once_in_an_order_of_its_own() -> None:
    batches = FamilyBatches(FAMILIES, size=5, seed=1)  # 2 steps per epoch, 2 families left out
    epochs = [
        [texts(row)[0] for step in steps for row in batches.of(step)] for steps in ((1, 2), (3, 4))
    ]
    for taken in epochs:
        assert len(set(taken)) == len(taken) == 10
    assert epochs[0] != epochs[1]


def of_source(source: str, families: list[Family]) -> list[Family]:
    """The same families with another source, and therefore with other anchors."""
    return [
        [
            family[0]._replace(text=f"{source}: {family[0].text}", source=source),
            *(member._replace(text=f"{source}: {member.text}") for member in family[1:]),
        ]
        for family in families
    ]


MIXED = [*of_source("own", FAMILIES), *of_source("list", FAMILIES), *of_source("more", FAMILIES)]


def taken(batches: Batches, steps: range, source: str) -> list[str]:
    """The anchors of a source in these steps, in their order."""
    rows = [row for step in steps for row in batches.of(step)]
    return [row[0].text for row in rows if row[0].source == source]


def test_an_epoch_takes_a_share_of_a_source_and_the_next_one_others_of_it() -> None:
    sources = {"list": 0.25, "more": 0.0, "elsewhere": 0.5}
    batches = FamilyBatches(MIXED, size=3, seed=1, sources=sources)
    assert rows_in_an_epoch(MIXED, sources) == 12 + 3
    epochs = [range(5 * epoch + 1, 5 * epoch + 6) for epoch in range(8)]
    for steps in epochs:
        assert len(set(taken(batches, steps, "own"))) == len(taken(batches, steps, "own")) == 12
        assert taken(batches, steps, "more") == []
    listed = [taken(batches, steps, "list") for steps in epochs]
    assert all(len(some) == 3 for some in listed)
    assert len({text for some in listed[:4] for text in some}) == 12  # all before a repetition
    assert [set(some) for some in listed[4:]] == [set(some) for some in listed[:4]]


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=40),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.integers(0, 9),
)
def test_no_anchor_comes_again_before_all_of_its_source_have_come(
    sources: list[int], shares: list[float], seed: int
) -> None:
    anchors = [Member(f"{n}", Role.ANCHOR, source=f"{of}") for n, of in enumerate(sources)]
    weights = {f"{of}": share for of, share in enumerate(shares)}
    epochs = Epochs(anchors, shares=weights, seed=seed)
    seen: Counter[int] = Counter()
    for epoch in range(7):
        chosen = epochs.of(epoch)
        assert len(set(chosen)) == len(chosen) == len(epochs)
        seen.update(chosen)
        for source in set(sources):
            counts = [seen[n] for n, of in enumerate(sources) if of == source]
            assert max(counts) - min(counts) <= 1
            assert (sum(counts) > 0) == (shares[source] > 0)
    assert len(epochs) == rows_in_an_epoch([[anchor] for anchor in anchors], weights)
    assert len(epochs) == pytest.approx(sum(shares[of] for of in sources), abs=3)


def test_sources_that_are_taken_whole_change_no_batch() -> None:
    plain = FamilyBatches(MIXED, size=4, seed=5)
    whole = FamilyBatches(MIXED, size=4, seed=5, sources={"own": 1.0, "elsewhere": 0.1})
    assert [plain.of(step) for step in range(1, 20)] == [whole.of(step) for step in range(1, 20)]


def test_weighted_batches_depend_on_seed_and_step_alone() -> None:
    def batches(seed: int) -> FamilyBatches:
        sources, types = {"own": 0.5, "list": 0.3}, {"word": 0.4, "verbal": 0.7}
        return FamilyBatches(MIXED, size=4, seed=seed, sources=sources, types=types)

    straight, jumping = batches(3), batches(3)
    steps = range(1, 25)
    found = {step: straight.of(step) for step in steps}
    assert {step: jumping.of(step) for step in reversed(steps)} == found
    assert {step: batches(4).of(step) for step in steps} != found


def test_a_variant_takes_part_as_often_as_its_type_says_and_the_anchor_always() -> None:
    weights = {"word": 0.25, "verbal": 0.75, "lexical": 0.01}
    batches = FamilyBatches(FAMILIES, size=12, seed=1, types=weights)
    counts: Counter[str] = Counter()
    for step in range(1, 201):
        rows = batches.of(step)
        assert all(row[0].role == Role.ANCHOR for row in rows)
        counts.update(member.type_id for row in rows for member in row)
    of = 200 * 12
    assert counts[""] == counts["phrase"] == counts["negated_antonym"] == of
    for type_id, weight in weights.items():
        assert counts[type_id] / of == pytest.approx(weight, abs=0.04)


def test_an_epoch_takes_anchors_of_a_source_with_all_their_triples() -> None:
    rows = as_triples(MIXED)
    sources = {"list": 0.25, "more": 0.0}
    batches = TripleBatches(rows, size=5, seed=2, sources=sources)
    assert rows_in_an_epoch(rows, sources) == 6 * (12 + 3)
    epochs = [range(18 * epoch + 1, 18 * epoch + 19) for epoch in range(4)]
    for steps in epochs:
        assert taken(batches, steps, "more") == []
        assert 1 <= len(set(taken(batches, steps, "list"))) <= 3
        assert len(set(taken(batches, steps, "own"))) == 12
    listed = {text for steps in epochs for text in taken(batches, steps, "list")}
    assert len(listed) == 12


def test_no_batch_of_triples_holds_a_text_twice() -> None:
    """Otherwise a triple's positive would be another triple's negative (in-batch negatives)."""
    batches = TripleBatches(TRIPLES, size=6, seed=0)
    for step in range(1, 2 * len(TRIPLES) // 6):
        assert max(Counter(text for row in batches.of(step) for text in texts(row)).values()) == 1


def test_an_epoch_of_triples_is_full_even_if_a_few_anchors_have_most_of_them() -> None:
    anchor = FAMILIES[0][0]
    many = [
        (anchor, Member(f"positive {n}", Role.HEDGE), Member(f"negative {n}", Role.NEGATION))
        for n in range(40)
    ]
    batches = TripleBatches([*many, *TRIPLES], size=6, seed=0)
    for step in range(1, (40 + len(TRIPLES)) // 6 + 1):
        anchors = [row[0].text for row in batches.of(step)]
        assert len(set(anchors)) == 6


def test_triples_that_all_share_a_text_give_no_batch() -> None:
    assert TripleBatches(as_triples(FAMILIES[:1]), size=2, seed=0).of(1) == []


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(ROLES)), max_size=5)))
def test_flat_triples_are_every_positive_with_every_negative(
    sampled: list[list[tuple[int, Role]]],
) -> None:
    families = [
        [
            Member(f"anchor {n}", Role.ANCHOR),
            *(Member(f"{n} {text}", role) for text, role in dict(variants).items()),
        ]
        for n, variants in enumerate(sampled)
    ]
    expected = []
    for anchor, *variants in families:
        good = [m.text for m in variants if m.role in (Role.HEDGE, Role.PARAPHRASE)]
        bad = [m.text for m in variants if m.role == Role.NEGATION]
        expected += [[anchor.text, g, b] for g in good for b in bad]
        expected += [] if bad else [[anchor.text, g] for g in good]
    found = as_triples(families)
    assert [texts(row) for row in found] == sorted(expected)
    assert sum(map(count_triples, families)) == len(found)
    assert all(count_triples(row) == 1 for row in found)
    assert as_triples([*families, *families]) == found
