"""Deleting a run with its row, metrics, folder and model, if nothing else uses them."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, delete, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.project.settings import ACTIVE_ENCODER, get_setting
from db.engine import writing
from db.errors import HedgerowError
from db.models import (
    Answer,
    BenchmarkResult,
    Encoder,
    ModelCall,
    Opinion,
    ProbeCosine,
    Run,
    RunMetric,
    RunState,
    Variant,
    VariantCosine,
)
from db.runs import UNFINISHED, get_run, parts_of
from db.settings import Settings
from training.models.finetuned import RANKER_KIND as RANKERS
from training.runs.kinds import kind_of
from training.studies.members import study_of

_MAY_GO_ON_ELSEWHERE = (RunState.QUEUED, RunState.PAUSED, RunState.INTERRUPTED)
"""States of a run without a process, whose work on another machine may continue."""


def delete_run(engine: Engine, settings: Settings, run_id: int) -> list[Path]:
    """Delete a run and its parts, such as the training runs of a study.

    Returns:
        The deleted folders.

    Raises:
        HedgerowError: the run is in progress, part of a study, or used elsewhere (then nothing is
            deleted), or a folder cannot be removed after the rows are deleted.
    """
    with writing(engine) as session:
        run = get_run(session, run_id)
        if (study := study_of(run)) is not None:
            raise HedgerowError(f"Run {run_id} is part of the study run {study}; delete that run.")
        runs = [run, *_parts(session, run)]
        for one in runs:
            _check(session, one, {other.id for other in runs})
        for one in runs:
            _delete_rows(session, one)
        folders = [settings.data_folder / one.folder for one in runs if one.folder]
    for folder in folders:
        _remove(folder)
    return folders


def _parts(session: Session, run: Run) -> list[Run]:
    query = select(col(Run.id)).where(col(Run.group) == parts_of(run)).order_by(col(Run.id))
    return [get_run(session, key) for key in session.execute(query).scalars()]


def _check(session: Session, run: Run, together: set[int]) -> None:
    """Refuse to delete a run that is in progress or used elsewhere.

    Args:
        together: the numbers of the runs that are deleted in the same step.
    """
    if run.state == RunState.RUNNING:
        raise HedgerowError(
            f"Run {run.id} is in progress; cancel it first with 'hedgerow runs cancel {run.id}'."
        )
    if kind_of(run.kind).cancel_abandoned and run.state in _MAY_GO_ON_ELSEWHERE:
        raise HedgerowError(
            f"The job of run {run.id} may still be running at its provider; cancel it first with "
            f"'hedgerow runs cancel {run.id}'."
        )
    written = _count(session, Variant, run) + _count_opinions(session, run)
    if written:
        what = "1 variant or opinion" if written == 1 else f"{written:,} variants or opinions"
        raise HedgerowError(f"Run {run.id} cannot be deleted, because it is the source of {what}.")
    for encoder in _encoders(session, run):
        if get_setting(session, ACTIVE_ENCODER) == encoder.name:
            raise HedgerowError(
                f"The model of run {run.id} is the active encoder; choose another one first with "
                "'hedgerow settings set active_encoder NAME'."
            )
        _check_base(session, run, encoder, together)
    named = [*([run.folder] if run.folder else []), *(e.name for e in _encoders(session, run))]
    named += [run.result["name"]] if run.kind == RANKERS and run.result else []
    for other in session.execute(select(Run).where(col(Run.id).not_in(together))).scalars():
        named_other = f"Run {other.id} ({kind_of(other.kind).title})"
        if other.parameters.get("training") == run.id:
            raise HedgerowError(f"{named_other} depends on run {run.id}; delete that one first.")
        asked = json.dumps(other.parameters, ensure_ascii=False)
        if other.state in UNFINISHED and any(name in asked for name in named):
            raise HedgerowError(
                f"{named_other} is waiting to use the model of run {run.id}; cancel it first."
            )


def _check_base(session: Session, run: Run, encoder: Encoder, together: set[int]) -> None:
    query = select(col(Encoder.run_id)).where(col(Encoder.base_id) == encoder.id)
    for number in session.execute(query).scalars():
        if number is not None and number not in together:
            raise HedgerowError(
                f"The model of run {number} was made from the model of run {run.id}; delete run "
                f"{number} first."
            )


def _encoders(session: Session, run: Run) -> Sequence[Encoder]:
    return session.execute(select(Encoder).where(col(Encoder.run_id) == run.id)).scalars().all()


def _count(session: Session, table: Any, run: Run) -> int:
    query = select(func.count()).select_from(table).where(col(table.run_id) == run.id)
    return int(session.execute(query).scalar_one())


def _count_opinions(session: Session, run: Run) -> int:
    query = select(func.count()).select_from(Opinion)
    query = query.join(Answer, col(Answer.id) == col(Opinion.answer_id))
    return int(session.execute(query.where(col(Answer.run_id) == run.id)).scalar_one())


def _delete_rows(session: Session, run: Run) -> None:
    for encoder in _encoders(session, run):
        for figures in (VariantCosine, ProbeCosine):
            session.execute(delete(figures).where(col(figures.encoder_id) == encoder.id))
        free = update(Encoder).where(col(Encoder.base_id) == encoder.id)
        session.execute(free.values(base_id=None))
        session.delete(encoder)
    session.flush()
    for table in (RunMetric, BenchmarkResult, Answer, ModelCall):
        session.execute(delete(table).where(col(table.run_id) == run.id))
    session.execute(delete(Run).where(col(Run.id) == run.id))


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise HedgerowError(
            f"The run is deleted, but its folder {folder} cannot be removed ({error.strerror}); "
            "remove it yourself."
        ) from error
