"""Finetuned models that are not encoders: cross-encoders and late-interaction models.

The table of encoders only has models that embed single texts. The others are in the results of
their runs.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from db.models import Run, RunState

KIND = "finetune-ranker"
"""Kind of the runs that finetune on NevIR's pairs."""


class TrainedRanker(NamedTuple):
    """A finetuned model that is not an encoder.

    Attributes:
        name: its name in all choices of models that rank documents.
        path: the path of its folder, relative to the data folder.
        fingerprint: the fingerprint of its files.
    """

    name: str
    path: str
    fingerprint: str


def trained_rankers(session: Session) -> list[TrainedRanker]:
    """All finetuned rankers, newest first."""
    query = select(Run).where(col(Run.kind) == KIND, col(Run.state) == RunState.DONE)
    runs = session.execute(query.order_by(col(Run.id).desc())).scalars()
    return [
        TrainedRanker(run.result["name"], run.result["model"], run.result["fingerprint"])
        for run in runs
        if "fingerprint" in run.result and "encoder_id" not in run.result
    ]


def find_ranker(session: Session, name: str) -> TrainedRanker | None:
    """The model with this name, or None."""
    return next((ranker for ranker in trained_rankers(session) if ranker.name == name), None)
