"""Agreement beyond chance: Cohen's kappa of two raters, Krippendorff's alpha of any number.

Everything takes matrices of counts, shape (…, k, k) with any leading axes, so that one call serves
a figure and all the resamples of its interval; what is not defined is NaN. It is our own since
packages take a value for every unit and rater: a bootstrap would go through all of them each time.
"""

import numpy as np


def kappa(tables: np.ndarray) -> np.ndarray:
    """Cohen's kappa (1960), in [-1, 1].

    Args:
        tables: how often the one rater gave category i and the other j.
    """
    return beyond(observed(tables), by_chance_of_two(tables))


def alpha(matrices: np.ndarray) -> np.ndarray:
    """Krippendorff's alpha for nominal categories, at most 1.

    As in K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011).

    Args:
        matrices: sums of `coincidences`.
    """
    return beyond(observed(matrices), by_chance(matrices))


def coincidences(counts: np.ndarray) -> np.ndarray:
    """Each unit's pairs of values, in both orders, weighted so that each value counts once.

    Args:
        counts: shape (…, k), how often each category was given to the unit; at least two in all.
    """
    pairs = counts[..., :, None] * (counts[..., None, :] - np.eye(counts.shape[-1]))
    return np.asarray(pairs / (counts.sum(axis=-1) - 1)[..., None, None])


def observed(matrices: np.ndarray) -> np.ndarray:
    """The share that agrees."""
    differing = (matrices * (1 - np.eye(matrices.shape[-1]))).sum(axis=(-2, -1))
    return 1 - _ratio(differing, matrices.sum(axis=(-2, -1)))


def by_chance_of_two(tables: np.ndarray) -> np.ndarray:
    """The share that would agree if each rater kept to their own shares of the categories."""
    expected = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1)
    return _ratio(expected, tables.sum(axis=(-2, -1)) ** 2)


def by_chance(matrices: np.ndarray) -> np.ndarray:
    """The share that would agree if the values were dealt out to the units at random."""
    values = matrices.sum(axis=-1)
    n = values.sum(axis=-1)
    return _ratio((values * (values - 1)).sum(axis=-1), n * (n - 1))


def beyond(observed: np.ndarray, by_chance: np.ndarray) -> np.ndarray:
    """How far the agreement goes from chance (0) to full agreement (1)."""
    return _ratio(observed - by_chance, 1 - by_chance)


def _ratio(number: np.ndarray, of: np.ndarray) -> np.ndarray:
    """The quotient; NaN where the divisor is 0."""
    return np.divide(number, of, out=np.full(np.shape(of), np.nan), where=np.asarray(of) != 0)
