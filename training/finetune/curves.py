"""The curves of a training run: their names, and the evaluations as tidy rows for charts."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.encoders import embeddings
from db.models import Run, RunMetric
from training.evaluation.figures import LossPoint, loss_curve
from training.evaluation.general_ability import RETRIEVAL
from training.evaluation.held_out import COSINE, DRIFT, FAMILIES, QUESTIONS, RANKED, SPREAD, STS
from training.losses.families import Role

# -- Evaluations on the held-out part during training, as tidy rows for charts --------------------
#
# Metrics are stored under their names in `training.evaluation.held_out`. No encoder is needed here.


SHARES = {
    RANKED: "triples ranked correctly",
    FAMILIES: "anchors ranked correctly",
    QUESTIONS: "questions answered correctly",
}
"""The metrics that are accuracies."""

ROLES = {
    Role.NEGATION: "negations",
    Role.UNSUPPORTED: "unsupported",
    Role.HEDGE: "hedges",
    Role.PARAPHRASE: "paraphrases",
}
"""Labels of the variants' curves."""

GENERAL = {
    DRIFT: "drift of unrelated sentences",
    STS: "STS (Spearman)",
    RETRIEVAL: "retrieval (MRR@10)",
}
"""The metrics of general ability, the most informative one last. Retrieval has no curve."""


class CurvePoint(NamedTuple):
    """The value of a metric at one evaluation."""

    epoch: float
    step: int
    series: str
    value: float


class Band(NamedTuple):
    """The mean cosine of the anchors with their variants of a role, and one standard deviation on
    both sides of it, limited to the range from -1 to 1."""

    epoch: float
    step: int
    series: str
    mean: float
    lower: float
    upper: float


class PairShare(NamedTuple):
    """The share of triples with these types of positive and negative that are ranked correctly."""

    positive: str
    negative: str
    before: float
    share: float


class Evaluations(NamedTuple):
    """Every evaluation on the held-out part.

    Attributes:
        epochs: the number of epochs at each evaluation, by step; the first is at step 0.
        figures: step → value, by the metric's name.
    """

    epochs: Mapping[int, float]
    figures: Mapping[str, Mapping[int, float]]

    @property
    def last(self) -> int:
        """The step of the latest evaluation."""
        return max(self.epochs)


def read_evaluations(session: Session, run_id: int) -> Evaluations | None:
    """All evaluations of a run; None before the first."""
    query = (
        select(col(RunMetric.name), col(RunMetric.step), col(RunMetric.value))
        .where(col(RunMetric.run_id) == run_id, col(RunMetric.name).not_in([LOSS, PACE, RATE]))
        .order_by(col(RunMetric.step), col(RunMetric.name))
    )
    figures: dict[str, dict[int, float]] = {}
    for name, step, value in session.execute(query):
        figures.setdefault(name, {})[step] = value
    epochs = figures.pop(EPOCH, {})
    return Evaluations(epochs, figures) if epochs and figures else None


class Evaluation(NamedTuple):
    """Some metrics at one evaluation.

    Attributes:
        epoch: the number of passes over the data; 0 before the first step.
        step: the number of training steps.
        figures: the metrics that were measured, by name.
    """

    epoch: float
    step: int
    figures: dict[str, float]


def list_evaluations(session: Session, run: Run, names: Iterable[str]) -> list[Evaluation]:
    """The evaluations of a run so far, with the metrics of these names in this order."""
    found = read_evaluations(session, run.id) or Evaluations({}, {})
    named = {name: found.figures[name] for name in names if name in found.figures}
    return [
        Evaluation(epoch, step, {name: of[step] for name, of in named.items() if step in of})
        for step, epoch in sorted(found.epochs.items())
    ]


class RunCurves(NamedTuple):
    """The training loss by step, and the evaluations; None before the first one."""

    losses: list[LossPoint]
    evaluations: Evaluations | None


def read_curves(session: Session, run: Run) -> RunCurves:
    """The curves of a run so far."""
    return RunCurves(loss_curve(session, run), read_evaluations(session, run.id))


def shares(evaluations: Evaluations) -> list[CurvePoint]:
    """The accuracies at each evaluation."""
    return [
        point for name, series in SHARES.items() for point in _points(evaluations, name, series)
    ]


def general(evaluations: Evaluations, name: str) -> list[CurvePoint]:
    """A metric of general ability at each evaluation."""
    return _points(evaluations, name, GENERAL[name])


def _points(evaluations: Evaluations, name: str, series: str) -> list[CurvePoint]:
    found = evaluations.figures.get(name, {})
    return [
        CurvePoint(evaluations.epochs[step], step, series, value)
        for step, value in found.items()
        if step in evaluations.epochs
    ]


def cosines(evaluations: Evaluations) -> list[Band]:
    """Cosines of anchors with their variants by role at each evaluation (NevIR's Figure 8)."""
    return [
        Band(
            point.epoch,
            point.step,
            series,
            point.value,
            lower=max(-1.0, point.value - sd),
            upper=min(1.0, point.value + sd),
        )
        for role, series in ROLES.items()
        for point in _points(evaluations, COSINE[role], series)
        for sd in [evaluations.figures.get(COSINE[role] + SPREAD, {}).get(point.step, 0.0)]
    ]


def pair_shares(evaluations: Evaluations) -> list[PairShare]:
    """The share of triples ranked correctly at the latest evaluation, by the types of the two."""
    found = []
    for name, values in evaluations.figures.items():
        figure, _, types = name.partition(":")
        positive, _, negative = types.partition(">")
        if figure == RANKED and negative and evaluations.last in values:
            before = values.get(0, values[evaluations.last])
            found.append(PairShare(positive, negative, before, values[evaluations.last]))
    return found


# -- curve names ----------------------------------------------------------------------------------
#
# Names of the curves of every training run. Others are in `training.evaluation.held_out`.


LOSS, RATE, PACE = "loss", "learning_rate", embeddings.PACE
"""Curves of the steps: mean loss, learning rate, and characters per second including the fixed cost
of a step (`STEP`)."""

STEP = 900
"""The fixed cost of a step, in characters that could be read in that time. It is mostly the update
of all weights. With the built-in encoder on a processor, steps of 2,100 to 9,000 characters took
as long as that and their texts, to within 5%."""

EPOCH = "epoch"
"""The curve of epochs done, with a point at each evaluation."""
