"""Agreement beyond chance: Cohen's kappa for two raters, Krippendorff's alpha for any number.

The functions of coefficients take matrices of counts with shape (…, k, k) and any leading axes, so
that one call computes a figure and all resamples of its interval. Undefined values are NaN.
Packages need a value for every unit and rater, which makes a bootstrap slow; that is why this is
our own code.

Intervals are bootstrapped over variants. Variants with the same verdicts are resampled together, so
that an interval takes no longer for 350,000 variants than for 350. Results are cached by their
counts.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np


def kappa(tables: np.ndarray) -> np.ndarray:
    """Cohen's kappa (1960), in [-1, 1].

    Args:
        tables: how often the first rater gave category i and the second gave j.
    """
    return beyond(observed(tables), by_chance_of_two(tables))


def alpha(matrices: np.ndarray) -> np.ndarray:
    """Krippendorff's alpha for nominal categories, at most 1.

    As in K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011).

    Args:
        matrices: sums of `coincidences` over units.
    """
    return beyond(observed(matrices), by_chance(matrices))


def coincidences(counts: np.ndarray) -> np.ndarray:
    """The pairs of values of each unit in both orders, weighted so that each value counts once.

    Args:
        counts: how often each category was given to the unit, shape (…, k); at least two values.
    """
    pairs = counts[..., :, None] * (counts[..., None, :] - np.eye(counts.shape[-1]))
    return np.asarray(pairs / (counts.sum(axis=-1) - 1)[..., None, None])


def observed(matrices: np.ndarray) -> np.ndarray:
    """The observed agreement."""
    differing = (matrices * (1 - np.eye(matrices.shape[-1]))).sum(axis=(-2, -1))
    return 1 - _ratio(differing, matrices.sum(axis=(-2, -1)))


def by_chance_of_two(tables: np.ndarray) -> np.ndarray:
    """The expected agreement if each rater chose at random with their own category shares."""
    expected = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1)
    return _ratio(expected, tables.sum(axis=(-2, -1)) ** 2)


def by_chance(matrices: np.ndarray) -> np.ndarray:
    """The expected agreement if the values were assigned to the units at random."""
    values = matrices.sum(axis=-1)
    n = values.sum(axis=-1)
    return _ratio((values * (values - 1)).sum(axis=-1), n * (n - 1))


def beyond(observed: np.ndarray, by_chance: np.ndarray) -> np.ndarray:
    """The agreement on a scale from chance (0) to full agreement (1)."""
    return _ratio(observed - by_chance, 1 - by_chance)


def _ratio(number: np.ndarray, of: np.ndarray) -> np.ndarray:
    """The quotient; NaN where the divisor is 0."""
    return np.divide(number, of, out=np.full(np.shape(of), np.nan), where=np.asarray(of) != 0)


# -- intervals ------------------------------------------------------------------------------------


SEED = 0
"""The bootstrap's seed, so that intervals are reproducible."""

RESAMPLES = 2_000

CONFIDENCE = 0.95

TOO_FEW = 0.05
"""Maximum share of resamples in which a figure is undefined; above it, there is no interval."""

FEWEST = 10
"""Variants or verdicts that an interval needs; with fewer, it covers nearly anything."""

Counts = tuple[tuple[tuple[int, ...], int], ...]
"""Sorted pairs: the counts of a variant, and how many variants have these counts."""


class Estimate(NamedTuple):
    """A figure with its 95% interval; None if undefined, or if there is too little data."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class Estimates(NamedTuple):
    """The figures of agreement.

    Attributes:
        agreement: the share of pairs of verdicts that agree; each verdict counts once.
        beyond_chance: kappa or alpha.
        by_chance: the agreement expected by chance; None without verdicts.
    """

    agreement: Estimate = Estimate()
    beyond_chance: Estimate = Estimate()
    by_chance: float | None = None


@lru_cache(maxsize=4_096)
def with_alpha(counts: Counts) -> Estimates:
    """The figures for any number of people, with Krippendorff's alpha.

    Args:
        counts: how many verdicts of each category a variant has; at least two verdicts.
    """
    values, numbers = _arrays(counts)
    return _estimates(coincidences(values), numbers, by_chance)


@lru_cache(maxsize=4_096)
def with_kappa(counts: Counts) -> Estimates:
    """The figures for two people, with Cohen's kappa.

    Args:
        counts: the categories that the two people gave a variant, each 0 or 1.
    """
    given, numbers = _arrays(counts)
    one, other = (np.eye(2)[given[:, who]] for who in (0, 1))
    return _estimates(one[:, :, None] * other[:, None, :], numbers, by_chance_of_two)


def _arrays(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    return np.array([key for key, _ in counts]), np.array([number for _, number in counts])


def _estimates(
    matrices: np.ndarray, numbers: np.ndarray, chance: Callable[[np.ndarray], np.ndarray]
) -> Estimates:
    """The figures for matrices of counts, shape (n, k, k), each with its number of variants."""
    units = int(numbers.sum())
    total = np.tensordot(numbers, matrices, axes=1)
    share, expected = observed(total), chance(total)
    limits = (0.0, 1.0)
    if units < FEWEST:
        shares = values = np.array([np.nan])  # no interval
    elif share in (0, 1):  # all resamples would be equal: use Clopper and Pearson's limits
        edge = ((1 - CONFIDENCE) / 2) ** (1 / units)
        shares = np.array([edge, 1]) if share else np.array([0, 1 - edge])
        values = beyond(shares, expected.repeat(2))
    else:
        sampled = np.random.default_rng(SEED).multinomial(units, numbers / units, size=RESAMPLES)
        resamples = np.tensordot(sampled, matrices, axes=1)
        shares = observed(resamples)
        values = beyond(shares, chance(resamples))
        limits = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    return Estimates(
        _estimate(share, shares, limits),
        _estimate(beyond(share, expected), values, limits),
        float(expected),
    )


def _estimate(value: np.ndarray, sampled: np.ndarray, limits: tuple[float, float]) -> Estimate:
    if np.isnan(value):
        return Estimate()
    if np.isnan(sampled).mean() > TOO_FEW:
        return Estimate(float(value))
    low, high = np.nanquantile(sampled, limits)
    return Estimate(float(value), float(low), float(high))
