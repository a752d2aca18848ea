"""How a score follows from the rows of a result: a share of right items, or a rank correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np

MetricKind = Literal["share", "spearman"]

POINTS = 100.0
"""Papers print shares and correlations times a hundred."""


class PartScore(NamedTuple):
    """A part of a breakdown: points, and the items that it is of."""

    score: float
    n: int


class JudgedRow(Protocol):
    """What of one row per metric looks at."""

    @property
    def right(self) -> bool | None: ...
    @property
    def answered(self) -> bool: ...
    @property
    def scores(self) -> tuple[float, ...]: ...
    @property
    def gold(self) -> float | None: ...


def metric_of(kind: MetricKind, rows: Sequence[JudgedRow]) -> float:
    """The score of these rows, in points; 0 where there are none, or nothing varies."""
    if kind == "share":
        return POINTS * float(np.mean([bool(row.right) for row in rows])) if rows else 0.0
    from scipy.stats import spearmanr  # noqa: PLC0415  (loading it takes a second)

    gold, given = gold_and_given(rows)
    if len(gold) < 2 or np.ptp(gold) == 0 or np.ptp(given) == 0:
        return 0.0
    return POINTS * float(spearmanr(gold, given).statistic)


def gold_and_given(rows: Sequence[JudgedRow]) -> tuple[np.ndarray, np.ndarray]:
    """What people and what a model say of each answered row, two arrays of equal length."""
    pairs = [(row.gold, row.scores[0]) for row in rows if row.answered and row.gold is not None]
    columns = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]
