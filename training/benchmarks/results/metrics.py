"""Computing a score from the rows of a result: an accuracy or a rank correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np

MetricKind = Literal["share", "spearman"]

POINTS = 100.0
"""Factor for shares and correlations: papers print them times a hundred."""


class PartScore(NamedTuple):
    """The score of a part of a breakdown, in points, and its number of items."""

    score: float
    n: int


class JudgedRow(Protocol):
    """The part of a row that a metric uses."""

    @property
    def right(self) -> bool | None: ...
    @property
    def answered(self) -> bool: ...
    @property
    def scores(self) -> tuple[float, ...]: ...
    @property
    def gold(self) -> float | None: ...


def metric_of(kind: MetricKind, rows: Sequence[JudgedRow]) -> float:
    """The score of these rows, in points; 0 if there are no rows or the values are constant."""
    if kind == "share":
        return POINTS * float(np.mean([bool(row.right) for row in rows])) if rows else 0.0
    from scipy.stats import spearmanr  # noqa: PLC0415  (loading it takes a second)

    gold, given = gold_and_given(rows)
    if len(gold) < 2 or np.ptp(gold) == 0 or np.ptp(given) == 0:
        return 0.0
    return POINTS * float(spearmanr(gold, given).statistic)


def gold_and_given(rows: Sequence[JudgedRow]) -> tuple[np.ndarray, np.ndarray]:
    """The human and the model's scores of the answered rows: two arrays of equal length."""
    pairs = [(row.gold, row.scores[0]) for row in rows if row.answered and row.gold is not None]
    columns = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]
