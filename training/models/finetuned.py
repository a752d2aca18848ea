"""Finetuned models that are not encoders: rerankers and language models."""

from pathlib import Path
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from db.models import Run, RunState
from db.runs import list_runs

# -- Finetuned models that are not encoders: cross-encoders and late-interaction models -----------
#
# The table of encoders only has models that embed single texts. The others are in the results of
# their runs.


RANKER_KIND = "finetune-ranker"
"""Kind of the runs that finetune on NevIR's pairs."""


def finished_runs(
    session: Session, kind: str, *, group: str | None = None, limit: int | None = None
) -> list[Run]:
    """The finished runs of a kind, the newest first; of one group or of all."""
    query = select(Run).where(col(Run.kind) == kind, col(Run.state) == RunState.DONE)
    if group is not None:
        query = query.where(col(Run.group) == group)
    return list(session.execute(query.order_by(col(Run.id).desc()).limit(limit)).scalars())


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
    return [
        TrainedRanker(run.result["name"], run.result["model"], run.result["fingerprint"])
        for run in finished_runs(session, RANKER_KIND)
        if "fingerprint" in run.result and "encoder_id" not in run.result
    ]


def find_ranker(session: Session, name: str) -> TrainedRanker | None:
    """The model with this name, or None."""
    return next((ranker for ranker in trained_rankers(session) if ranker.name == name), None)


# -- The folders of the language models that were finetuned here ----------------------------------


LANGUAGE_MODEL_KIND = "finetune-llm"
"""Kind of the runs that finetune a language model."""

MOST = 100
"""Maximum number of finetuning runs that are read: the newest."""


def finetuned_folders(session: Session, data_folder: Path) -> list[str]:
    """The folders of the adapters that still exist, the newest first, with their names in
    results."""
    runs = finished_runs(session, LANGUAGE_MODEL_KIND, limit=MOST)
    folders = [(data_folder / run.result["model"]).resolve() for run in runs]
    return [str(folder) for folder in folders if folder.is_dir()]


def finetuned_bases(session: Session, data_folder: Path) -> dict[str, str]:
    """The fingerprint of the base of each adapter and merged model, by the folder of the model."""
    return {
        str((data_folder / run.result[model]).resolve()): str(run.result["base_fingerprint"])
        for run in finished_runs(session, LANGUAGE_MODEL_KIND, limit=MOST)
        for model in ("model", "merged")
        if run.result.get(model)
    }


def list_language_finetunings(session: Session) -> list[Run]:
    """The finetuning runs, newest first."""
    return list_runs(session, kind=LANGUAGE_MODEL_KIND, limit=MOST)
