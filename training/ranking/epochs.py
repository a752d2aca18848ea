"""What was measured after each epoch of a finetuning, read from the database alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from db.models import Run
from training.ranking.figures import DOCUMENTS, HIGH, LOW, NEVIR, QUANTILES, quantile
from training.ranking.reranking import RERANKING
from training.runs.curves import read_evaluations

SPREAD = f"{DOCUMENTS}:sd"

SHARES = (NEVIR, LOW, HIGH)
"""The figures that people read as percentages."""

NAMES: Mapping[str, str] = {
    NEVIR: "NevIR pairwise accuracy",
    LOW: "lower end of its 95% interval",
    HIGH: "upper end of its 95% interval",
    RERANKING: "retrieval (MRR)",
    DOCUMENTS: "mean cosine of the two documents",
    SPREAD: "its standard deviation",
    **{quantile(percent): f"{percent}% quantile" for percent in QUANTILES},
}
"""The figures in the order of tables, and what they are called."""


class EpochFigures(NamedTuple):
    """What was measured after an epoch.

    Attributes:
        epoch: 0 before the first step.
        step: training steps done.
        figures: by their names in `NAMES`; those of the documents for encoders alone.
    """

    epoch: int
    step: int
    figures: dict[str, float]


def epochs_of(session: Session, run: Run) -> list[EpochFigures]:
    """The epochs of a run as far as it has come."""
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
    """A finetuning and its figures."""

    run: Run
    epochs: list[EpochFigures]


def with_epochs(session: Session, runs: Iterable[Run]) -> list[Finetuning]:
    """Runs with their figures."""
    return [Finetuning(run, epochs_of(session, run)) for run in runs]


def measured(epochs: Sequence[EpochFigures]) -> list[str]:
    """The figures that there are, in the order of tables."""
    return [name for name in NAMES if any(name in epoch.figures for epoch in epochs)]


def as_table(runs: Sequence[Finetuning]) -> tuple[list[str], list[list[Any]]]:
    """Header and lines of a file: an epoch of a run a line; None where a run has no such figure."""
    names = measured([epoch for run in runs for epoch in run.epochs])
    lines = [
        [found.run.id, epoch.epoch, epoch.step, *(epoch.figures.get(name) for name in names)]
        for found in runs
        for epoch in found.epochs
    ]
    return ["run", "epoch", "step", *(NAMES[name] for name in names)], lines
