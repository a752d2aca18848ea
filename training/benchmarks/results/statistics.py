"""Confidence intervals of scores, tests of two models, and ranks of several models."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from db.errors import HedgerowError
from training.benchmarks.definition import POINTS, ItemResult, Result, gold_and_given

SEED = 0
"""The seed of all resampling, so that results are reproducible."""

RESAMPLES = 2_000
"""Number of bootstrap samples, and of permutations in a test: enough for the first two digits."""

CONFIDENCE = 0.95

AT_ONCE = 4_000_000
"""Number of values that resampling holds in memory at a time: 32 MB per array."""

Values = Callable[[np.ndarray], np.ndarray]
"""Maps an array of unit numbers, shape (…, units), to the score of each row, in points."""


class Interval(NamedTuple):
    """A bootstrap confidence interval, in points.

    Attributes:
        units: the number of resampled units. A unit is a group of items made from the same
            sentence.
    """

    low: float
    high: float
    confidence: float
    units: int


class PairedTest(NamedTuple):
    """A paired test of two models on the same items.

    Attributes:
        difference: the second model's score minus the first one's, in points.
        p: the two-sided p-value: the probability of such a large difference if both are equally
            good.
        test: 'McNemar' or 'permutation', see `compare`.
        better, worse: the numbers of items that only the second, or only the first model got right;
            None for a correlation.
    """

    difference: float
    p: float
    test: Literal["McNemar", "permutation"]
    better: int | None
    worse: int | None


Rank = Literal["best", "second", ""]


def interval(result: Result) -> Interval:
    """The percentile bootstrap interval of a result's score. It is reproducible.

    Items made from the same sentence are resampled together, because they are not independent. At 0
    and 100 points, a bootstrap interval has no width, so it is the Clopper-Pearson interval.

    Raises:
        HedgerowError: the result has no rows.
    """
    if not result.rows:
        raise HedgerowError("Expected items in the result, found none; run the benchmark again.")
    units, statistic = _sampler(result)
    if result.kind != "spearman" and result.score in (0.0, POINTS):
        return interval_of_extreme(result.score, units)
    if units < 2:
        return Interval(result.score, result.score, CONFIDENCE, units)
    from scipy.stats import bootstrap  # noqa: PLC0415  (loading it takes a second)

    found = bootstrap(
        (np.arange(units),),
        lambda sampled, axis: statistic(sampled),
        n_resamples=RESAMPLES,
        batch=max(1, AT_ONCE // units),
        vectorized=True,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return Interval(float(found.low), float(found.high), CONFIDENCE, units)


def interval_of_extreme(score: float, units: int) -> Interval:
    """The interval at 0 or 100 points: all units are wrong, or all are correct."""
    from scipy.stats import binomtest  # noqa: PLC0415  (loading it takes a second)

    found = binomtest(units if score else 0, units).proportion_ci(CONFIDENCE)
    return Interval(POINTS * float(found.low), POINTS * float(found.high), CONFIDENCE, units)


def compare(first: Result, second: Result) -> PairedTest:
    """Test whether two models differ, item by item.

    If items are independent and either right or wrong, this is McNemar's exact test: under the null
    hypothesis, each item that only one model got right is equally likely to be the first or the
    second model's. McNemar's test is not valid if several items were made from the same sentence,
    or if the score is a correlation. Then a permutation test randomly swaps the two models'
    answers, group by group. For a correlation, it swaps their ranks, because different models'
    scores are on different scales.

    Raises:
        HedgerowError: the results are of different benchmarks or data.
    """
    if (first.benchmark, first.data_hash) != (second.benchmark, second.data_hash):
        raise HedgerowError(
            "Expected two results on the same items, found different data; run both models on "
            "the same file."
        )
    one, two = _aligned(first, second)
    difference = second.score - first.score
    if first.kind == "spearman":
        return PairedTest(difference, _swapped_ranks(one, two), "permutation", None, None)
    right = np.array([[bool(a.right), bool(b.right)] for a, b in zip(one, two, strict=True)])
    better = int((~right[:, 0] & right[:, 1]).sum())
    worse = int((right[:, 0] & ~right[:, 1]).sum())
    units = _units(one)
    if len(units) == len(one):
        total = better + worse
        from scipy.stats import binomtest  # noqa: PLC0415  (loading it takes a second)

        p = float(binomtest(better, total).pvalue) if total else 1.0
        return PairedTest(difference, p, "McNemar", better, worse)
    one_sums, two_sums = np.array([right[rows].sum(axis=0) for rows in units], dtype=float).T
    p = _permuted(one_sums, two_sums, lambda x, y, axis: y.sum(axis=axis) - x.sum(axis=axis))
    return PairedTest(difference, p, "permutation", better, worse)


def places(scores: Mapping[str, float], *, decimals: int = 1) -> dict[str, Rank]:
    """The best and second-best scores, after rounding to this number of decimals.

    Equal scores share a rank, and the next lower score is still second. A single score has no
    rank, and neither has a score that is displayed as 0 or less.
    Do not mix measured and published scores in one call.
    """
    shown = {name: round(score, decimals) for name, score in scores.items()}
    ranks = sorted({score for score in shown.values() if score > 0}, reverse=True)
    if len(scores) < 2:
        return dict.fromkeys(scores, "")
    names: list[Rank] = ["best", "second"]
    by_score = dict(zip(ranks, names, strict=False))
    return {name: by_score.get(score, "") for name, score in shown.items()}


def _units(rows: Sequence[ItemResult]) -> list[list[int]]:
    """The indices of the rows in each group."""
    groups: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(row.group or row.key, []).append(number)
    return list(groups.values())


def _sampler(result: Result) -> tuple[int, Values]:
    """The number of units, and a function that scores a sample of them."""
    if result.kind == "spearman":
        from scipy.stats import rankdata  # noqa: PLC0415  (loading it takes a second)

        gold, given = gold_and_given(result.rows)
        return (
            len(gold),
            lambda sampled: (
                POINTS
                * _correlation(rankdata(gold[sampled], axis=-1), rankdata(given[sampled], axis=-1))
            ),
        )
    units = _units(result.rows)
    right = np.array([sum(bool(result.rows[n].right) for n in rows) for rows in units])
    sizes = np.array([len(rows) for rows in units])
    return len(
        units
    ), lambda sampled: POINTS * right[sampled].sum(axis=-1) / sizes[sampled].sum(axis=-1)


def _correlation(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Pearson's correlation along the last axis; 0 if one side does not vary."""
    one = first - first.mean(axis=-1, keepdims=True)
    two = second - second.mean(axis=-1, keepdims=True)
    scale = np.sqrt((one**2).sum(axis=-1) * (two**2).sum(axis=-1))
    return np.divide((one * two).sum(axis=-1), scale, out=np.zeros_like(scale), where=scale > 0)


def _aligned(first: Result, second: Result) -> tuple[list[ItemResult], list[ItemResult]]:
    """The rows of both results, item by item, whatever the order of the data."""
    keys = [row.key for row in first.rows]
    by_key = {row.key: row for row in second.rows}
    if len(by_key) == len(second.rows) and by_key.keys() == set(keys):
        return list(first.rows), [by_key[key] for key in keys]
    return list(first.rows), list(second.rows)


def _swapped_ranks(first: Sequence[ItemResult], second: Sequence[ItemResult]) -> float:
    """The p-value of a permutation test of two models' correlations with the same human scores."""
    from scipy.stats import rankdata  # noqa: PLC0415  (loading it takes a second)

    both = [(a, b) for a, b in zip(first, second, strict=True) if a.answered and b.answered]
    gold = rankdata([a.gold for a, _ in both])
    ranks = [rankdata([row.scores[0] for row in column]) for column in zip(*both, strict=True)]
    if len(both) < 2:
        return 1.0

    def difference(one: np.ndarray, two: np.ndarray, axis: int) -> np.ndarray:
        return _correlation(two, gold) - _correlation(one, gold)

    return _permuted(ranks[0], ranks[1], difference)


def _permuted(
    first: np.ndarray,
    second: np.ndarray,
    statistic: Callable[[np.ndarray, np.ndarray, int], np.ndarray],
) -> float:
    if np.array_equal(first, second):
        return 1.0
    from scipy.stats import permutation_test  # noqa: PLC0415  (loading it takes a second)

    found = permutation_test(
        (first, second),
        statistic,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES * 5 - 1,
        batch=max(1, AT_ONCE // len(first)),
        axis=-1,
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)
