"""Agreement beyond chance: Cohen's kappa for two raters, Krippendorff's alpha for any number.

All functions take matrices of counts with shape (…, k, k) and any leading axes, so that one call
computes a figure and all resamples of its interval. Undefined values are NaN. Packages need a value
for every unit and rater, which makes a bootstrap slow; that is why this is our own code.
"""

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
