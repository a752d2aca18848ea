"""The metrics after each epoch of a finetuning run, read from the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from db.models import Run
from training.ranking.figures import DOCUMENTS, HIGH, LOW, NEVIR, quantile
from training.ranking.reranking import RERANKING
from training.runs.curves import read_evaluations

SPREAD = f"{DOCUMENTS}:sd"

SHARES = (NEVIR, LOW, HIGH)
"""The metrics that are shown as percentages."""

QUANTILE_NAMES: Mapping[int, str] = {
    0: "minimum",
    25: "lower quartile",
    50: "median",
    75: "upper quartile",
    100: "maximum",
}
"""A name for each percentage in `QUANTILES`."""

NAMES: Mapping[str, str] = {
    NEVIR: "NevIR pairwise accuracy",
    LOW: "lower end of its 95% interval",
    HIGH: "upper end of its 95% interval",
    RERANKING: "retrieval (MRR)",
    DOCUMENTS: "mean cosine of the two documents",
    SPREAD: "standard deviation of the cosine",
    **{quantile(percent): f"{name} of the cosine" for percent, name in QUANTILE_NAMES.items()},
}
"""The labels of the metrics, in the order of tables."""


class EpochFigures(NamedTuple):
    """The metrics after an epoch.

    Attributes:
        epoch: 0 before the first step.
        step: the number of training steps.
        figures: the metrics by their names in `NAMES`; the cosines of documents only exist for
            encoders.
    """

    epoch: int
    step: int
    figures: dict[str, float]


def epochs_of(session: Session, run: Run) -> list[EpochFigures]:
    """The epochs of a run so far."""
    evaluations = read_evaluations(session, run.id)
    if evaluations is None:
        return []
    return [
        EpochFigures(round(epoch), step, _at(evaluations.figures, step))
        for step, epoch in sorted(evaluations.epochs.items())
    ]


def _at(figures: Mapping[str, Mapping[int, float]], step: int) -> dict[str, float]:
    return {name: figures[name][step] for name in NAMES if step in figures.get(name, {})}


class Finetuning(NamedTuple):
    """A finetuning run and its metrics."""

    run: Run
    epochs: list[EpochFigures]


def with_epochs(session: Session, runs: Iterable[Run]) -> list[Finetuning]:
    """The runs with their metrics."""
    return [Finetuning(run, epochs_of(session, run)) for run in runs]


def measured(epochs: Sequence[EpochFigures]) -> list[str]:
    """The metrics that exist, in the order of tables."""
    return [name for name in NAMES if any(name in epoch.figures for epoch in epochs)]


def as_table(runs: Sequence[Finetuning]) -> tuple[list[str], list[list[Any]]]:
    """The header and rows of a file with one epoch of a run per row; None for a missing metric."""
    names = measured([epoch for run in runs for epoch in run.epochs])
    lines = [
        [found.run.id, epoch.epoch, epoch.step, *(epoch.figures.get(name) for name in names)]
        for found in runs
        for epoch in found.epochs
    ]
    return ["run", "epoch", "step", *(NAMES[name] for name in names)], lines
