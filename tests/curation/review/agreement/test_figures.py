"""The figures of agreement: their values, groups and underlying variants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.review.agreement.estimates import Estimate
from curation.review.agreement.figures import (
    By,
    Figures,
    confusion,
    differing,
    figures,
    figures_by,
    in_cell,
    in_group,
)
from curation.review.agreement.interpretation import as_text, sentences
from curation.review.agreement.overlap import Overlap, Pattern, Vote
from curation.review.agreement.records import ids_of
from db.models import Verdict

A, R, E = Verdict.ACCEPT, Verdict.REJECT, Verdict.EDIT


def pattern(
    ids: list[int], *verdicts: tuple[int, Verdict], type_id: str = "verbal", cue: str | None = None
) -> Pattern:
    votes = tuple(Vote(person, verdict, verdict) for person, verdict in verdicts)
    return Pattern(type_id, 1 + ids[0] % 2, cue, votes, len(ids), ",".join(map(str, ids)))


PAIR = Overlap(
    (
        pattern([1, 3, 5, 7], (1, A), (2, A)),
        pattern([2, 4], (1, A), (2, R), type_id="word", cue="may"),
        pattern([6], (1, E), (2, R), type_id="word", cue="might"),
        pattern([8], (1, E), (2, A), type_id="word", cue=""),
    )
)


def test_an_edit_counts_like_a_rejection() -> None:
    found = figures(PAIR)
    assert (found.variants, found.verdicts) == (8, 16)
    assert found.accepted == 11 / 16
    assert found.agreement.value == 5 / 8
    # Both accept 4 and neither accepts 1. One accepts 6 of 8, the other 5.
    chance = (6 * 5 + 2 * 3) / 64
    assert found.kappa.value == pytest.approx((5 / 8 - chance) / (1 - chance))
    assert found.by_chance == pytest.approx((11 * 10 + 5 * 4) / (16 * 15))


def test_kappa_is_of_two_people_only() -> None:
    three = Overlap((*PAIR.patterns, pattern([9], (2, A), (3, A))))
    found = figures(three)
    assert found.kappa == Estimate() and found.alpha.value is not None
    pairs = figures_by(three, By.PAIR)
    assert list(pairs) == [(1, 2), (2, 3)]
    assert pairs[1, 2] == figures(PAIR)


def test_groups_come_in_the_order_of_their_size() -> None:
    groups = {by: {g: f.variants for g, f in figures_by(PAIR, by).items()} for by in By}
    assert groups == {
        By.TYPE: {"verbal": 4, "word": 4},
        By.PAIR: {(1, 2): 8},
        By.CUE: {"may": 2, "might": 1},  # neither type has a cue
        By.SOURCE: {1: 4, 2: 4},
    }


@pytest.mark.parametrize("by", By)
def test_the_variants_behind_a_group_are_those_it_counts(by: By) -> None:
    for group, found in figures_by(PAIR, by).items():
        behind = in_group(PAIR, by, group)
        assert len(ids_of(behind)) == found.variants and figures(behind) == found
    assert ids_of(in_group(PAIR, By.CUE, "may")) == [2, 4]


def test_three_people_give_three_pairs_and_one_is_left_of_each() -> None:
    trio = Overlap((pattern([1, 2], (1, A), (2, A), (3, R)),))
    found = figures(trio)
    assert found.agreement.value == pytest.approx(1 / 3)
    pairs = {pair: each.agreement.value for pair, each in figures_by(trio, By.PAIR).items()}
    assert pairs == {(1, 2): 1, (1, 3): 0, (2, 3): 0}
    assert [len(p.votes) for p in in_group(trio, By.PAIR, (1, 3)).patterns] == [2]


def test_the_confusion_table_keeps_edits_separate() -> None:
    assert confusion(PAIR) == {(A, A): 4, (A, R): 2, (E, R): 1, (E, A): 1}
    assert ids_of(in_cell(PAIR, (E, R))) == [6]
    assert ids_of(differing(PAIR)) == [2, 4, 8]


def test_without_overlap_there_is_nothing() -> None:
    assert figures(Overlap()) == Figures() and sentences(Figures()) == []
    assert all(figures_by(Overlap(), by) == {} for by in By)


VOTES = st.lists(st.lists(st.sampled_from([A, R, E]), min_size=3, max_size=3), min_size=1)


@given(VOTES, st.permutations([1, 2, 3]))
def test_the_order_of_people_does_not_matter(units: list[list[Verdict]], order: list[int]) -> None:
    def made(people: list[int]) -> Overlap:
        return Overlap(
            tuple(
                pattern([number], *sorted(zip(people, unit, strict=True)))
                for number, unit in enumerate(units)
            )
        )

    one, other = figures(made([1, 2, 3])), figures(made(order))
    assert one == other
    if all(len({verdict is A for verdict in unit}) == 1 for unit in units):
        assert one.agreement.value == 1 and one.alpha.value in (None, 1)


@pytest.mark.parametrize(
    ("agreeing", "interpretation"),
    [(99, "calls reliable"), (87, "tentative conclusions only"), (70, "below 0.667")],
)
def test_alpha_is_interpreted_with_krippendorffs_thresholds(
    agreeing: int, interpretation: str
) -> None:
    many = 100
    found = figures(
        Overlap(
            (
                pattern(list(range(agreeing * many // 2)), (1, A), (2, A)),
                pattern(list(range(agreeing * many // 2)), (1, R), (2, R)),
                pattern(list(range((100 - agreeing) * many)), (1, R), (2, A)),
            )
        )
    )
    first, kappa, rate = sentences(found)
    assert interpretation in first and "interval" not in first
    assert f"a kappa of {found.kappa.value:.2f}" in kappa
    assert rate.endswith("of the verdicts are acceptances.")


def test_an_extreme_base_rate_and_a_wide_interval_are_reported() -> None:
    found = figures(
        Overlap((pattern(list(range(36)), (1, A), (2, A)), pattern([40, 41], (1, R), (2, R))))
    )
    text = " ".join(sentences(found))
    assert "The interval includes 0.667 and 0.800" in text
    assert "94.7% of the verdicts are acceptances, so chance alone gives" in text
    same = figures(Overlap((pattern([1, 2], (1, A), (2, A)),)))
    assert "needs at least 10" in sentences(same)[0] and "needs at least" not in text
    assert "alpha and kappa are not defined" in sentences(same)[1]


def test_figures_in_words() -> None:
    assert as_text(Estimate(0.543, 0.5, 0.6)) == "0.54 (0.50 to 0.60)"
    assert as_text(Estimate(0.543, 0.5, 0.6), as_percent=True) == "54.3% (50.0% to 60.0%)"
    assert as_text(Estimate(0.543)) == "0.54" and as_text(Estimate()) == "–"
