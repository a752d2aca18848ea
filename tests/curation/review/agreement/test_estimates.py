"""Intervals of agreement: they contain the estimate, narrow with more data and cover the truth."""

import numpy as np
import pytest
from scipy.stats import binomtest

from curation.review.agreement.estimates import FEWEST, Counts, Estimate, with_alpha, with_kappa


def test_figure_and_interval() -> None:
    found = with_alpha((((0, 2), 30), ((1, 1), 20), ((2, 0), 50)))
    assert found.agreement.value == pytest.approx(0.8)
    # 80 of 100: the normal approximation gives 0.72 to 0.88.
    assert found.agreement.low == pytest.approx(0.72, abs=0.01)
    assert found.agreement.high == pytest.approx(0.88, abs=0.01)
    assert found.by_chance == pytest.approx((120 * 119 + 80 * 79) / (200 * 199))
    alpha = found.beyond_chance
    assert alpha.low is not None and alpha.high is not None and alpha.value is not None
    assert alpha.low < alpha.value < alpha.high


def test_more_variants_make_it_surer_and_take_no_longer() -> None:
    def width(estimate: Estimate) -> float:
        assert estimate.low is not None and estimate.high is not None
        return estimate.high - estimate.low

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
    exact = binomtest(units, units).proportion_ci(0.95)
    full = with_alpha((((2, 0), units),)).agreement
    assert (full.low, full.high) == pytest.approx((exact.low, exact.high))
    never = with_alpha((((1, 1), units),)).agreement
    assert (never.low, never.high) == pytest.approx((1 - exact.high, 1 - exact.low))


def test_full_agreement_leaves_alpha_unsure() -> None:
    found = with_alpha((((0, 2), 10), ((2, 0), 10)))
    assert found.beyond_chance.value == 1 == found.beyond_chance.high
    edge = binomtest(20, 20).proportion_ci(0.95).low
    chance = found.by_chance or 0
    assert found.beyond_chance.low == pytest.approx((edge - chance) / (1 - chance))


def test_undefined_figures_are_left_open() -> None:
    assert with_alpha((((2, 0), 9),)).beyond_chance == Estimate()
    assert with_kappa((((1, 1), 9),)).beyond_chance == Estimate()
    # One rejection among twenty verdicts: a third of the resamples lacks it.
    found = with_alpha((((1, 1), 1), ((2, 0), 9))).beyond_chance
    assert found.value is not None and found.low is None and found.high is None


def test_the_same_counts_give_the_same_interval() -> None:
    counts: Counts = (((0, 2), 3), ((1, 1), 4), ((2, 0), 5))
    first = with_alpha(counts)
    with_alpha.cache_clear()
    assert with_alpha(counts) == first


@pytest.mark.slow
def test_the_interval_of_alpha_covers_the_truth() -> None:
    """Two raters who each err on a fifth of the units: 95% intervals of samples of 200."""
    right, wrong = 0.8**2 + 0.2**2, 2 * 0.8 * 0.2
    truth = 1 - wrong / 0.5
    dice = np.random.default_rng(7)
    covered = 0
    for _ in range(300):
        yes, no, mixed = dice.multinomial(200, [right / 2, right / 2, wrong])
        found = with_alpha((((0, 2), int(no)), ((1, 1), int(mixed)), ((2, 0), int(yes))))
        assert found.beyond_chance.low is not None and found.beyond_chance.high is not None
        covered += found.beyond_chance.low <= truth <= found.beyond_chance.high
    assert 0.91 < covered / 300 < 0.99
