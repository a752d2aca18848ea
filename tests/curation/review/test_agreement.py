"""Agreement: coefficients as in the literature and other packages, intervals that cover the truth,
and the figures of groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.decisions.coefficients import (
    FEWEST,
    Counts,
    Estimate,
    alpha,
    coincidences,
    kappa,
    observed,
    with_alpha,
    with_kappa,
)
from curation.review.agreement.figures import (
    By,
    Figures,
    as_text,
    confusion,
    differing,
    figures,
    figures_by,
    in_cell,
    in_group,
    sentences,
)
from curation.review.agreement.overlap import Overlap, Pattern, Vote
from curation.review.agreement.records import ids_of
from db.models import Verdict
from tests.curation.review.desk import A, E, R

KRIPPENDORFF = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""
"""Four observers, twelve units, with missing values: Krippendorff (2011), section C."""

BINARY = """
0 1 0 0 0 0 0 0 1 0
1 1 1 0 0 1 0 0 0 0
"""
"""Two observers, ten units: Krippendorff (2011), section A."""

CATEGORIES = 3
RATINGS = st.lists(
    st.lists(st.none() | st.integers(0, CATEGORIES - 1), min_size=3, max_size=3), max_size=12
)
"""Units with the values that three observers gave them; None for a missing value."""


def read(table: str) -> list[list[int | None]]:
    """Units of a table with one line per observer."""
    lines = [line.split() for line in table.strip().splitlines()]
    return [[None if v == "." else int(v) for v in unit] for unit in zip(*lines, strict=True)]


def alpha_of(units: list[list[int | None]], categories: int) -> float:
    counts = np.array([[unit.count(c) for c in range(categories)] for unit in units])
    counts = counts.reshape(-1, categories)
    return float(alpha(coincidences(counts[counts.sum(axis=-1) > 1]).sum(axis=0)))


def test_alpha_of_krippendorffs_worked_examples() -> None:
    assert alpha_of(read(KRIPPENDORFF), 6) == pytest.approx(0.743, abs=5e-4)
    assert alpha_of(read(BINARY), 2) == pytest.approx(0.095, abs=5e-4)


def test_kappa_of_a_worked_example() -> None:
    """Two readers judge 50 proposals: both yes 20, both no 15; 70% agree, 50% by chance."""
    assert float(kappa(np.array([[20, 5], [10, 15]]))) == pytest.approx(0.4)
    # Feinstein and Cicchetti (1990): 85% agree in both tables, but kappa differs widely.
    assert float(kappa(np.array([[40, 9], [6, 45]]))) == pytest.approx(0.70, abs=5e-3)
    assert float(kappa(np.array([[80, 10], [5, 5]]))) == pytest.approx(0.32, abs=5e-3)


@pytest.mark.slow
@given(RATINGS)
def test_alpha_is_nltks(units: list[list[int | None]]) -> None:
    from nltk.metrics.agreement import AnnotationTask

    ours = alpha_of(units, CATEGORIES)
    several = [unit for unit in units if sum(value is not None for value in unit) > 1]
    if len({value for unit in several for value in unit if value is not None}) < 2:
        assert np.isnan(ours)
        return
    rows = [
        (str(who), str(number), value)
        for number, unit in enumerate(several)
        for who, value in enumerate(unit)
        if value is not None
    ]
    assert ours == pytest.approx(AnnotationTask(rows).alpha())


@pytest.mark.slow
@given(st.lists(st.integers(0, 9), min_size=9, max_size=9))
def test_kappa_is_scikit_learns(cells: list[int]) -> None:
    from sklearn.metrics import cohen_kappa_score

    ours = float(kappa(np.array(cells).reshape(3, 3)))
    if np.isnan(ours):
        return  # nothing, or one category from both
    one, other = np.divmod(np.arange(9), 3)
    assert ours == pytest.approx(cohen_kappa_score(one, other, sample_weight=cells))


def test_leading_axes_are_computed_at_once() -> None:
    tables = np.array([[[20, 5], [10, 15]], [[0, 0], [0, 0]], [[3, 0], [0, 3]]])
    assert kappa(tables) == pytest.approx([0.4, np.nan, 1.0], nan_ok=True)
    assert observed(tables) == pytest.approx([0.7, np.nan, 1.0], nan_ok=True)


# -- intervals ---------------------------------------------------------------------------------


def width(estimate: Estimate) -> float:
    assert estimate.low is not None and estimate.high is not None and estimate.value is not None
    assert estimate.low <= estimate.value <= estimate.high
    return estimate.high - estimate.low


def test_figure_and_interval() -> None:
    found = with_alpha((((0, 2), 30), ((1, 1), 20), ((2, 0), 50)))
    # 80 of 100: the normal approximation gives 0.72 to 0.88.
    assert found.agreement == pytest.approx((0.8, 0.72, 0.88), abs=0.01)
    assert found.by_chance == pytest.approx((120 * 119 + 80 * 79) / (200 * 199))
    assert width(found.beyond_chance) > 0


def test_more_variants_make_it_surer_and_take_no_longer() -> None:
    few: Counts = (((0, 0), 3), ((0, 1), 2), ((1, 1), 5))
    many: Counts = tuple((key, number * 10_000) for key, number in few)
    assert with_kappa(few).beyond_chance.value == with_kappa(many).beyond_chance.value
    assert width(with_kappa(many).beyond_chance) < width(with_kappa(few).beyond_chance) / 50


def test_few_variants_have_figures_without_intervals() -> None:
    few, enough = (((((1, 1), 4), ((2, 0), number))) for number in (FEWEST - 5, FEWEST - 4))
    for estimate in with_alpha(few)[:2] + with_kappa((((0, 1), 1), ((1, 1), 1)))[:1]:
        assert isinstance(estimate, Estimate)
        assert estimate.value is not None and estimate.low is None and estimate.high is None
    assert with_alpha(enough).agreement.low is not None


@pytest.mark.parametrize("units", [FEWEST, 17, 200])
def test_full_agreement_and_none_have_clopper_and_pearsons_interval(units: int) -> None:
    low = 0.025 ** (1 / units)
    assert with_alpha((((2, 0), units),)).agreement == pytest.approx((1, low, 1))
    assert with_alpha((((1, 1), units),)).agreement == pytest.approx((0, 0, 1 - low))


def test_full_agreement_leaves_alpha_unsure() -> None:
    found = with_alpha((((0, 2), 10), ((2, 0), 10)))
    assert found.beyond_chance.value == 1 == found.beyond_chance.high
    edge, chance = 0.025 ** (1 / 20), found.by_chance or 0
    assert found.beyond_chance.low == pytest.approx((edge - chance) / (1 - chance))


def test_undefined_figures_are_left_open() -> None:
    assert with_alpha((((2, 0), 9),)).beyond_chance == Estimate()
    assert with_kappa((((1, 1), 9),)).beyond_chance == Estimate()
    # One rejection among twenty verdicts: a third of the resamples lacks it.
    value, *interval = with_alpha((((1, 1), 1), ((2, 0), 9))).beyond_chance
    assert value is not None and interval == [None, None]


def test_the_same_counts_give_the_same_interval() -> None:
    counts: Counts = (((0, 2), 3), ((1, 1), 4), ((2, 0), 5))
    first = with_alpha(counts)
    with_alpha.cache_clear()
    assert with_alpha(counts) == first


@pytest.mark.slow
def test_the_interval_of_alpha_covers_the_truth() -> None:
    """Two raters who each err on a fifth of the units: 95% intervals of samples of 200."""
    right, wrong, truth = 0.68, 0.32, 0.36
    dice, covered = np.random.default_rng(7), 0
    for _ in range(300):
        yes, no, mixed = dice.multinomial(200, [right / 2, right / 2, wrong])
        counts = (((0, 2), int(no)), ((1, 1), int(mixed)), ((2, 0), int(yes)))
        found = with_alpha(counts).beyond_chance
        covered += (found.low or 1) <= truth <= (found.high or 0)
    assert 0.91 < covered / 300 < 0.99


# -- figures -----------------------------------------------------------------------------------


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
    assert (found.variants, found.verdicts, found.accepted) == (8, 16, 11 / 16)
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
    assert figures(trio).agreement.value == pytest.approx(1 / 3)
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


@given(
    st.lists(st.tuples(*[st.sampled_from([A, R, E])] * 3), min_size=1), st.permutations([1, 2, 3])
)
def test_the_order_of_people_does_not_matter(
    units: list[tuple[Verdict, ...]], order: list[int]
) -> None:
    def found(people: list[int]) -> Figures:
        votes = [sorted(zip(people, unit, strict=True)) for unit in units]
        return figures(Overlap(tuple(pattern([n], *given) for n, given in enumerate(votes))))

    assert found([1, 2, 3]) == found(order)


@pytest.mark.parametrize(
    ("agreeing", "fact"), [(99, "reliable"), (87, "tentative"), (70, "below 0.667")]
)
def test_alpha_is_interpreted_with_krippendorffs_thresholds(agreeing: int, fact: str) -> None:
    half, rest = list(range(agreeing * 50)), list(range((100 - agreeing) * 100))
    patterns = (
        pattern(half, (1, A), (2, A)),
        pattern(half, (1, R), (2, R)),
        pattern(rest, (1, R), (2, A)),
    )
    found = figures(Overlap(patterns))
    first, kappa, rate = sentences(found)
    assert fact in first and "interval" not in first
    assert f"{found.kappa.value:.2f}" in kappa and "50.0%" in rate and "chance" not in rate


def test_an_extreme_base_rate_and_a_wide_interval_are_reported() -> None:
    many = Overlap((pattern(list(range(36)), (1, A), (2, A)), pattern([40, 41], (1, R), (2, R))))
    text = " ".join(sentences(figures(many)))
    for fact in ("includes 0.667 and 0.800", "94.7%", "chance alone"):
        assert fact in text
    few, undefined, *_ = sentences(figures(Overlap((pattern([1, 2], (1, A), (2, A)),))))
    assert "at least 10" in few and "at least 10" not in text
    assert "not defined" in undefined


def test_figures_in_words() -> None:
    found = Estimate(0.543, 0.5, 0.6)
    assert as_text(found) == "0.54 (0.50 to 0.60)"
    assert as_text(found, as_percent=True) == "54.3% (50.0% to 60.0%)"
    assert as_text(Estimate(0.543)) == "0.54" and as_text(Estimate()) == "–"
