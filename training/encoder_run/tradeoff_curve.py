"""The measured trade-off of a training run: its points, and the suggested one.

No encoder is needed here.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy.orm import Session

from db.models import Run
from db.runs import list_runs
from training.evaluation.general_ability import RETRIEVAL
from training.evaluation.held_out import DRIFT, FAMILIES, QUESTIONS, RANKED, STS
from training.models.finetuned import finished_runs

KIND = "tradeoff"

NEGATION = (QUESTIONS, FAMILIES, RANKED)
"""Metrics of understanding negation, the hardest one first."""

KEPT = "kept"
"""1 - drift: how close the cosines of unrelated sentences are to the base encoder's."""

GENERAL = (RETRIEVAL, STS, KEPT)
"""Metrics of general ability, the most informative one first."""


class SharePoint(NamedTuple):
    """The measurements for one share of the finetuned weights: the metrics of `HeldOut`, and
    retrieval."""

    share: float
    figures: dict[str, float]

    def value(self, name: str) -> float:
        """The value of a metric in `NEGATION` or `GENERAL`."""
        return 1 - self.figures[DRIFT] if name == KEPT else self.figures[name]

    def has(self, name: str) -> bool:
        """Whether the metric was measured."""
        return (DRIFT if name == KEPT else name) in self.figures


class Curve(NamedTuple):
    """A measured trade-off.

    Attributes:
        run: the number of the run that measured it.
        training: the number of the training run.
        points: from the share 0 (the base encoder) to 1, at least two.
        own_share: the share of the run's own model; one of the points has it.
        counts: the number of items (questions, anchors, …) behind each metric.
        sts: the name of the STS file, as given by a user; "" without one.
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
        """The metrics in this list that are known at every point."""
        return [name for name in names if all(point.has(name) for point in self.points)]


def group_of(training: int) -> str:
    """The group of all runs that belong to a training run."""
    return f"training-{training}"


def newest(session: Session, training: int, *, kind: str = KIND) -> Run | None:
    """The newest run of a kind for this training run, in any state."""
    return next(iter(list_runs(session, kind=kind, group=group_of(training), limit=1)), None)


def curve_of(session: Session, training: int) -> Curve | None:
    """The latest measured trade-off of a training run; None if there is none."""
    run = measured_run(session, training)
    if run is None:
        return None
    found = run.result
    points = [SharePoint(point["share"], point["figures"]) for point in found["points"]]
    return Curve(run.id, training, points, found["own_share"], found["counts"], found["sts"])


def measured_run(session: Session, training: int) -> Run | None:
    """The newest run that finished measuring the trade-off of a training run."""
    return next(iter(finished_runs(session, KIND, group=group_of(training))), None)


def axes(curve: Curve) -> tuple[list[str], list[str]]:
    """The measured metrics of general ability and of negation, the best ones first."""
    return curve.measured(GENERAL), curve.measured(NEGATION)


def suggested(curve: Curve, *, general: str, negation: str) -> float:
    """The suggested share: the point farthest above the line between the ends.

    Each metric is scaled between its lowest and highest value on the curve. Of equally good points,
    the one with the larger share is suggested. If one metric is constant, only the other counts. If
    both are constant, the run's own share is suggested.

    Args:
        general, negation: metrics that are measured at every point.
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
