"""The expected calibration error of a judge's certainty, and its bins.

As in C. Guo et al., "On Calibration of Modern Neural Networks" (ICML 2017): the weighted mean
difference between stated certainty and accuracy, over ten bins of equal width.
"""

from collections.abc import Sequence
from typing import NamedTuple

BINS = 10


class Bin(NamedTuple):
    """Opinions of about the same certainty.

    Attributes:
        low, high: the limits; a certainty is in (low, high], and 0 is in the first bin.
        items: the number of opinions.
        certainty: the mean certainty, in [0, 1].
        right: the share of opinions that agree with people, in [0, 1].
    """

    low: float
    high: float
    items: int
    certainty: float
    right: float


class Reliability(NamedTuple):
    """How well a judge's certainty predicts that it is right.

    Attributes:
        error: the expected calibration error, in [0, 1]; None without a stated certainty.
        bins: the bins that are not empty.
        unnamed: the number of opinions without a certainty, which are left out.
    """

    error: float | None
    bins: tuple[Bin, ...]
    unnamed: int


def reliability(opinions: Sequence[tuple[float | None, bool]]) -> Reliability:
    """The reliability of opinions, given as (certainty or None, whether it agrees with people)."""
    named = [(certainty, right) for certainty, right in opinions if certainty is not None]
    bins = []
    for number in range(BINS):
        low, high = number / BINS, (number + 1) / BINS
        within = [
            (certainty, right)
            for certainty, right in named
            if low < certainty <= high or (number == 0 and certainty == 0)
        ]
        if within:
            size = len(within)
            mean = sum(certainty for certainty, _ in within) / size
            bins.append(Bin(low, high, size, mean, sum(right for _, right in within) / size))
    gaps = sum(one.items * abs(one.certainty - one.right) for one in bins)
    error = gaps / len(named) if named else None
    return Reliability(error, tuple(bins), len(opinions) - len(named))
