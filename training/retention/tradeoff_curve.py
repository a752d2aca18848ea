"""The measured trade-off of a training run: its points, and the suggested one.

No encoder is needed here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from db.models import Run, RunState
from db.runs import get_run
from training.evaluation.held_out import DRIFT, FAMILIES, QUESTIONS, RANKED, STS
from training.evaluation.retrieval import RETRIEVAL

KIND = "tradeoff"

NEGATION = (QUESTIONS, FAMILIES, RANKED)
"""Figures of how well negation is understood, the first that is there being the hardest."""

KEPT = "kept"
"""1 - drift: how far cosines of unrelated sentences are where the base encoder has them."""

GENERAL = (RETRIEVAL, STS, KEPT)
"""Figures of general ability, the first that is there being the more telling."""


class SharePoint(NamedTuple):
    """What was measured with a share of the finetuned weights: the figures of `HeldOut`, and
    retrieval."""

    share: float
    figures: dict[str, float]

    def value(self, name: str) -> float:
        """A figure of `NEGATION` or `GENERAL`."""
        return 1 - self.figures[DRIFT] if name == KEPT else self.figures[name]

    def has(self, name: str) -> bool:
        """Whether the metric was measured."""
        return (DRIFT if name == KEPT else name) in self.figures


class Curve(NamedTuple):
    """A measured trade-off.

    Attributes:
        run: the number of the run that measured it.
        training: the number of the training.
        points: from the share 0 (the base encoder) to 1, at least two.
        own_share: of the training's own model; one of the points'.
        counts: how many questions, anchors, … each figure rests on.
        sts: the name of the STS file; "" without one. Somebody's text.
    """

    run: int
    training: int
    points: list[SharePoint]
    own_share: float
    counts: dict[str, int]
    sts: str

    def at(self, share: float) -> SharePoint | None:
        """The point that was measured with this share."""
        near = (point for point in self.points if math.isclose(point.share, share, abs_tol=1e-9))
        return next(near, None)

    def measured(self, names: Sequence[str]) -> list[str]:
        """Those of the figures that are known at every point."""
        return [name for name in names if all(point.has(name) for point in self.points)]


def group_of(training: int) -> str:
    """What all runs that rest on a training are known by."""
    return f"training-{training}"


def newest(session: Session, training: int, *, kind: str = KIND) -> Run | None:
    """The newest run of a kind at this training, in whatever state."""
    query = select(col(Run.id)).where(col(Run.kind) == kind, col(Run.group) == group_of(training))
    number = session.execute(query.order_by(col(Run.id).desc()).limit(1)).scalar()
    return None if number is None else get_run(session, number)


def curve_of(session: Session, training: int) -> Curve | None:
    """The trade-off of a training as it was last measured; None before."""
    run = measured_run(session, training)
    if run is None:
        return None
    found = run.result
    points = [SharePoint(point["share"], point["figures"]) for point in found["points"]]
    return Curve(run.id, training, points, found["own_share"], found["counts"], found["sts"])


def measured_run(session: Session, training: int) -> Run | None:
    """The run that last measured a training's trade-off to its end."""
    query = select(Run).where(col(Run.kind) == KIND, col(Run.group) == group_of(training))
    query = query.where(col(Run.state) == RunState.DONE).order_by(col(Run.id).desc()).limit(1)
    found: Run | None = session.execute(query).scalar()
    return found


def axes(curve: Curve) -> tuple[list[str], list[str]]:
    """The figures of general ability and of negation that were measured, the best ones first."""
    return curve.measured(GENERAL), curve.measured(NEGATION)


def suggested(curve: Curve, *, general: str, negation: str) -> float:
    """The suggested share: the point farthest above the line between the ends.

    Each figure counts by where it lies between its lowest and its highest value on the curve; of
    equal points, the one with the larger share. Where a figure is the same everywhere, it is the
    other that counts, and where both are, the training's own share is as good as any.

    Args:
        general, negation: figures that are measured at every point.
    """
    across, up = (
        _scaled([point.value(name) for point in curve.points]) for name in (general, negation)
    )
    sums = [round(x + y, 6) for x, y in zip(across, up, strict=True)]
    if not any(sums):
        return curve.own_share
    best = max(range(len(sums)), key=lambda place: (sums[place], place))
    return curve.points[best].share


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]
