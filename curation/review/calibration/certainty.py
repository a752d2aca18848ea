"""Whether a judge's certainty can be believed: the expected calibration error, and its bins.

As in C. Guo and others, "On Calibration of Modern Neural Networks" (ICML 2017): the mean distance
between how certain a model says it is and how often it is right, over ten bins of equal width.
"""

from collections.abc import Sequence
from typing import NamedTuple

BINS = 10


class Bin(NamedTuple):
    """Opinions of about the same certainty.

    Attributes:
        low, high: the bin's limits; the certainty lies in (low, high], 0 in the first one.
        items: opinions.
        certainty: their mean certainty, in [0, 1].
        right: the share of them that agree with people.
    """

    low: float
    high: float
    items: int
    certainty: float
    right: float


class Reliability(NamedTuple):
    """How well a judge knows when it is right.

    Attributes:
        error: the expected calibration error, in [0, 1]; None without an opinion that names its
            certainty.
        bins: those that are not empty.
        unnamed: opinions without a certainty, which are left out.
    """

    error: float | None
    bins: tuple[Bin, ...]
    unnamed: int


def reliability(said: Sequence[tuple[float | None, bool]]) -> Reliability:
    """Of pairs: the certainty that an opinion names, and whether it agrees with people."""
    named = [(certainty, right) for certainty, right in said if certainty is not None]
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
    return Reliability(gaps / len(named) if named else None, tuple(bins), len(said) - len(named))
