"""Confidence intervals, paired tests, and the marks of a table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from db.errors import HedgerowError
from training.benchmarks.definition import Result
from training.benchmarks.results.statistics import compare, interval, places
from training.benchmarks.tasks.cannot import Cannot
from training.benchmarks.tasks.excluir import ExcluIR, Exclusion
from training.benchmarks.tasks.scored_pairs import ScoredPair
from training.benchmarks.tasks.semantoneg import SemAntoNeg
from training.benchmarks.tasks.suites import Forms, entries


def shares(right: list[bool]) -> Result:
    items = [Exclusion(str(n), f"q{n}", "a", "b") for n in range(len(right))]
    return ExcluIR(items).evaluate([np.array([float(hit), 0.5]) for hit in right])


def correlation(gold: np.ndarray, given_scores: np.ndarray) -> Result:
    items = [ScoredPair(str(n), f"a{n}", "b", float(g)) for n, g in enumerate(gold)]
    return Cannot(items).evaluate([np.array([score]) for score in given_scores])


def grouped(right: list[bool]) -> Result:
    """Each group of four questions is right or wrong as a whole."""
    forms = [Forms(f"a{n}", f"b{n}", f"c{n}", f"d{n}") for n in range(len(right))]
    scores = [np.array([0.0, 0.5, float(hit)]) for hit in right for _ in range(4)]
    return SemAntoNeg(entries(forms)).evaluate(scores)


def test_the_interval_of_a_share_is_near_the_normal_one() -> None:
    from scipy.stats import norm

    found = interval(shares([n % 10 < 3 for n in range(1_000)]))
    half = 100 * norm.ppf(0.975) * np.sqrt(0.3 * 0.7 / 1_000)
    assert found.low == pytest.approx(30 - half, abs=0.5)
    assert found.high == pytest.approx(30 + half, abs=0.5)
    assert found == interval(shares([n % 10 < 3 for n in range(1_000)])), "the same seed"


def test_items_made_from_one_sentence_are_not_independent() -> None:
    right = [n % 2 == 0 for n in range(100)]
    alone, together = (
        interval(shares([hit for hit in right for _ in range(4)])),
        interval(grouped(right)),
    )
    assert (alone.units, together.units) == (400, 100)
    assert together.high - together.low == pytest.approx(2 * (alone.high - alone.low), rel=0.15)


def test_the_interval_of_a_correlation_holds_the_score() -> None:
    rng = np.random.default_rng(1)
    gold = rng.normal(size=300)
    result = correlation(gold, gold + rng.normal(size=300))
    found = interval(result)
    assert found.low < result.score < found.high and found.units == 300
    assert 8 < found.high - found.low < 20


def test_without_variation_the_interval_is_the_exact_binomial_one() -> None:
    """A bootstrap interval would be a single point, as if 20 items left no doubt."""
    right, wrong = interval(shares([True] * 20)), interval(shares([False] * 20))
    assert (right.low, right.high) == (pytest.approx(100 * 0.025 ** (1 / 20)), 100.0)
    assert (wrong.low, wrong.high) == (0.0, pytest.approx(100 - right.low))
    alone = interval(grouped([True]))
    assert (alone.units, alone.low) == (1, pytest.approx(2.5)), "one sentence, not four items"
    gold = np.arange(20.0)
    assert interval(correlation(gold, gold)).low == pytest.approx(100.0)
    with pytest.raises(HedgerowError, match="found none"):
        interval(ExcluIR([]).evaluate([]))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_mcnemar_is_the_exact_binomial_test_of_the_items_only_one_got_right(
    hits: list[tuple[bool, bool]],
) -> None:
    from scipy.stats import binomtest

    first, second = ([pair[side] for pair in hits] for side in (0, 1))
    found = compare(shares(first), shares(second))
    better, worse = hits.count((False, True)), hits.count((True, False))
    assert (found.test, found.better, found.worse) == ("McNemar", better, worse)
    expected = binomtest(better, better + worse).pvalue if better + worse else 1.0
    assert found.p == pytest.approx(expected)
    turned = compare(shares(second), shares(first))
    assert turned.p == pytest.approx(found.p)
    assert turned.difference == pytest.approx(-found.difference)


def test_grouped_items_are_permuted_group_by_group() -> None:
    first, second = [False] * 6, [True] * 6
    found = compare(grouped(first), grouped(second))
    assert (found.test, found.better, found.worse) == ("permutation", 24, 0)
    assert found.p == pytest.approx(2 / 2**6), "six groups, not 24 items"
    assert compare(grouped(first), grouped(first)).p == 1.0


def test_correlations_are_compared_whatever_their_scale() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(2)
    gold = rng.normal(size=80)
    good, bad = gold + 0.3 * rng.normal(size=80), gold + 5 * rng.normal(size=80)
    found = compare(correlation(gold, bad), correlation(gold, good))
    assert found.test == "permutation" and found.p < 0.01 and found.better is None
    expected = 100 * (spearmanr(gold, good).statistic - spearmanr(gold, bad).statistic)
    assert found.difference == pytest.approx(expected)
    assert compare(correlation(gold, good), correlation(gold, 9 * good + 4)).p == 1.0
    other = gold + 0.3 * rng.normal(size=80)
    assert compare(correlation(gold, good), correlation(gold, other)).p > 0.05


def test_results_on_other_data_are_not_compared() -> None:
    with pytest.raises(HedgerowError, match="different data"):
        compare(shares([True]), shares([True, False]))


def test_the_order_of_the_data_does_not_matter_to_a_comparison() -> None:
    items = [Exclusion(str(n), f"q{n}", "a", "b") for n in range(6)]
    scores = [np.array([float(n % 2), 0.5]) for n in range(6)]
    first = ExcluIR(items).evaluate(scores)
    second = ExcluIR(items[::-1]).evaluate(scores[::-1])
    found = compare(first, second)
    assert (found.better, found.worse, found.p) == (0, 0, 1.0)


def test_best_and_second_best() -> None:
    scores = {"a": 40.56, "b": 18.08, "c": 40.58, "d": 14.6, "e": 18.0}
    assert places(scores) == {"a": "best", "b": "second", "c": "best", "d": "", "e": ""}
    assert places(scores, decimals=2)["a"] == "second"
    assert places({"a": 1.0}) == {"a": ""} and places({}) == {}
    assert places({"a": 0.0, "b": 0.0}) == {"a": "", "b": ""}, "none of them got one right"
    assert places({"a": 3.0, "b": 0.04}) == {"a": "best", "b": ""}
    assert places({"a": 1.0, "b": 1.0}) == {"a": "best", "b": "best"}
