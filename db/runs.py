"""Runs: rows for long work, with a lease and a final state.

A page or a command stores a run and starts ``hedgerow run ID`` as a detached process. The process
claims the row, renews a lease by the database's clock while it works, and stores how it ended. A
running run whose lease has expired, or whose process on this host is gone, is read as interrupted.
"""

import logging
import os
import socket
import sys
from collections.abc import Iterable
from datetime import timedelta
from functools import cache
from importlib import metadata
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Engine, and_, case, func, literal, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from db.columns import db_now, now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Run, RunMetric, RunState

LEASE = timedelta(seconds=20)
"""How long a process may miss its heartbeat before its run counts as interrupted."""

UNFINISHED = (RunState.QUEUED, RunState.RUNNING)

MOST_UNDER_WAY = 1_000
"""Maximum number of unfinished runs to read; there are never more at once."""

STOPPED = (RunState.FAILED, RunState.CANCELLED, RunState.INTERRUPTED, RunState.PAUSED)
"""The states of runs that ended early and can be started again."""

logger = logging.getLogger(__name__)

_RECORDED_PACKAGES = (
    "hedgerow",
    "torch",
    "transformers",
    "sentence-transformers",
    "peft",
    "trl",
    "datasets",
    "mteb",
    "streamlit",
)


def create_run(
    session: Session,
    *,
    kind: str,
    parameters: dict[str, Any],
    requested_by: int | None = None,
    inputs: dict[str, Any] | None = None,
    group: str = "",
) -> Run:
    """Store a queued run with its folder, ``runs/ID-kind`` below the data folder."""
    run = Run(
        kind=kind,
        parameters=parameters,
        inputs=inputs or {},
        versions=package_versions(),
        requested_by=requested_by,
        group=group,
    )
    session.add(run)
    session.flush()
    run.folder = f"runs/{run.id:05d}-{kind}"
    session.flush()
    return run


class EnsuredRun(NamedTuple):
    """A run that does the requested work, and whether it is new."""

    run: Run
    is_new: bool


def ensure_run(
    session: Session, *, kind: str, parameters: dict[str, Any], requested_by: int | None = None
) -> EnsuredRun:
    """An unfinished run of this kind with these parameters, or a new one.

    Use this for work that catches up with the data, such as measuring: an unfinished run includes
    data added after its start. A run with other parameters, such as another encoder, does not.
    """
    for run in under_way(session, kind):
        if run.parameters == parameters:
            return EnsuredRun(run, is_new=False)
    run = create_run(session, kind=kind, parameters=parameters, requested_by=requested_by)
    return EnsuredRun(run, is_new=True)


def parts_of(run: Run) -> str:
    """The group name of a run's sub-runs, such as those of a study."""
    return f"{run.kind}-{run.id}"


def package_versions() -> dict[str, str]:
    """The versions of the packages that results depend on, including those with plug-ins."""
    return dict(_package_versions(tuple(sys.path)))


@cache  # each version is read from a file
def _package_versions(path: tuple[str, ...]) -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for name in _RECORDED_PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    entries = metadata.entry_points()
    groups = [group for group in entries.groups if group.startswith("hedgerow.")]
    plug_ins = (entry.dist for group in groups for entry in entries.select(group=group))
    return found | {dist.name: dist.version for dist in plug_ins if dist and dist.name}


def get_run(session: Session, run_id: int) -> Run:
    """The run with this number. Its state is ``interrupted`` if its lease has expired.

    Raises:
        HedgerowError: there is no such run.
    """
    runs = _read(session, Run.id == run_id)
    if not runs:
        raise HedgerowError(f"There is no run {run_id}; 'hedgerow runs list' lists all runs.")
    return runs[0]


def get_runs(session: Session, run_ids: Iterable[int]) -> list[Run]:
    """The runs with these numbers, in this order, as in ``get_run``."""
    return [get_run(session, run_id) for run_id in run_ids]


def list_runs(
    session: Session, *, kind: str | None = None, group: str | None = None, limit: int = 20
) -> list[Run]:
    """The newest runs of one kind and one group, or of all, at most ``limit``."""
    chosen = [(col(Run.kind), kind), (col(Run.group), group)]
    conditions = [column == value for column, value in chosen if value is not None]
    return _read(session, and_(literal(True), *conditions), limit=limit)


def under_way(session: Session, kind: str | None = None) -> list[Run]:
    """The queued and running runs of one kind or of all, the newest first."""
    unfinished: Any = col(Run.state).in_(UNFINISHED)
    if kind is not None:
        unfinished &= col(Run.kind) == kind
    found = _read(session, unfinished, limit=MOST_UNDER_WAY)
    return [run for run in found if run.state in UNFINISHED]


def dead_runs(session: Session) -> list[Run]:
    """The runs stored as running whose process does not respond or is gone, the newest first.

    Their state is ``interrupted``.
    """
    running = _read(session, Run.state == RunState.RUNNING, limit=MOST_UNDER_WAY)
    return [run for run in running if run.state == RunState.INTERRUPTED]


def refuse_a_second(session: Session, kind: str) -> None:
    """Refuse a second run of a kind that allows only one at a time.

    Raises:
        HedgerowError: one is queued or running.
    """
    for run in under_way(session, kind):
        raise HedgerowError(f"Run {run.id} is already running; wait for it to finish.")


def refuse_equal(session: Session, run: Run, *, doing: str) -> None:
    """Refuse a new run that repeats one in progress. Roll the session back in this case.

    Args:
        doing: what the other run is doing and what to do instead, without a full stop.

    Raises:
        HedgerowError: a run of this kind with the same inputs and parameters is in progress.
    """
    for other in under_way(session, run.kind):
        same = (other.inputs, other.parameters) == (run.inputs, run.parameters)
        if same and other.id != run.id:
            raise HedgerowError(f"Run {other.id} is already {doing}.")


def _read(session: Session, condition: Any, *, limit: int = 1) -> list[Run]:
    silent = case((col(Run.lease_until) < db_now(), True), else_=False)
    query = select(Run, silent).where(condition).order_by(col(Run.id).desc()).limit(limit)
    runs = []
    for run, is_silent in session.execute(query):
        if run.state == RunState.RUNNING and (is_silent or has_ended(run.host, run.pid)):
            session.expunge(run)  # so that the derived state is never written back
            run.state = RunState.INTERRUPTED
            run.message = run.message or "The process stopped responding."
        runs.append(run)
    return runs


def has_ended(host: str, pid: int | None) -> bool:
    """Whether a run's process is known to be gone, which is possible on its own host only.

    If the system has reused the process id, the result is False, and the lease decides.
    """
    if os.name != "posix" or pid is None or host != socket.gethostname():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # another user's process
        return False
    return False


def _abandoned(session: Session, run_id: int) -> ColumnElement[bool]:
    """SQL: the run is stored as running, but its process does not respond or is gone."""
    gone = col(Run.lease_until) < db_now()
    query = select(col(Run.host), col(Run.pid), col(Run.attempt)).where(col(Run.id) == run_id)
    if (row := session.execute(query).first()) and has_ended(row[0], row[1]):
        gone = gone | (col(Run.attempt) == row[2])
    return (col(Run.state) == RunState.RUNNING) & gone


def metrics(session: Session, run_id: int, *, name: str) -> list[tuple[int, float]]:
    """The (step, value) pairs of one metric, in step order."""
    query = (
        select(col(RunMetric.step), col(RunMetric.value))
        .where(col(RunMetric.run_id) == run_id, col(RunMetric.name) == name)
        .order_by(col(RunMetric.step))
    )
    return [(step, value) for step, value in session.execute(query)]


def last_metrics(session: Session, run_id: int) -> dict[str, float]:
    """The last value of each metric, by name in alphabetical order."""
    last = (
        select(col(RunMetric.name), func.max(col(RunMetric.step)).label("step"))
        .where(col(RunMetric.run_id) == run_id)
        .group_by(col(RunMetric.name))
        .subquery()
    )
    query = (
        select(col(RunMetric.name), col(RunMetric.value))
        .join(last, (last.c.name == RunMetric.name) & (last.c.step == RunMetric.step))
        .where(col(RunMetric.run_id) == run_id)
        .order_by(col(RunMetric.name))
    )
    return dict(session.execute(query).all())


def request_cancel(session: Session, run_id: int) -> RunState:
    """Request a cancellation.

    A queued, paused or interrupted run is cancelled at once, together with its queued sub-runs. A
    running run stops at its next check and cancels them itself. A finished run does not change.

    Returns:
        The state afterwards.
    """
    run = get_run(session, run_id)
    seen = run.state
    if seen in (RunState.QUEUED, RunState.INTERRUPTED, RunState.PAUSED):
        values = {"state": RunState.CANCELLED, "finished_at": now(), "message": "Cancelled."}
        waiting = (col(Run.group) == parts_of(run)) & (col(Run.state) == RunState.QUEUED)
        session.execute(update(Run).where((col(Run.id) == run_id) | waiting).values(**values))
        return RunState.CANCELLED
    if seen == RunState.RUNNING:
        session.execute(update(Run).where(col(Run.id) == run_id).values(cancel_requested=True))
    return seen


def request_pause(session: Session, run_id: int) -> None:
    """Request that a running run pause, so that it can be resumed. Other runs do not change."""
    session.execute(
        update(Run)
        .where(col(Run.id) == run_id, col(Run.state) == RunState.RUNNING)
        .values(pause_requested=True)
    )


def requeue(session: Session, run_id: int) -> None:
    """Queue a run again that ended early.

    Raises:
        HedgerowError: it is done, queued or running.
    """
    free = col(Run.state).in_(STOPPED) | _abandoned(session, run_id)
    changed = session.execute(
        update(Run)
        .where(col(Run.id) == run_id, free)
        .values(
            state=RunState.QUEUED,
            cancel_requested=False,
            pause_requested=False,
            step=0,
            total=0,
            finished_at=None,
            message="Waiting for the run to start.",
        )
    )
    if not getattr(changed, "rowcount", 0):
        raise HedgerowError(f"Run {run_id} cannot be started again: it is done or running.")


def claim(engine: Engine, run_id: int, *, host: str, pid: int) -> Run:
    """Claim a run for this process. It must be queued or have ended early.

    Raises:
        HedgerowError: it is done, or running in another process.
    """
    with reading(engine) as session:
        get_run(session, run_id)
    with writing(engine) as session:
        moment = session.execute(select(db_now())).scalar_one()
        free = col(Run.state).in_([RunState.QUEUED, *STOPPED]) | _abandoned(session, run_id)
        taken = session.execute(
            update(Run)
            .where(col(Run.id) == run_id, free)
            .values(
                state=RunState.RUNNING,
                cancel_requested=False,
                pause_requested=False,
                attempt=Run.attempt + 1,
                host=host,
                pid=pid,
                message="Starting.",
                versions=package_versions(),
                started_at=moment,
                heartbeat_at=moment,
                lease_until=moment + LEASE,
                finished_at=None,
            )
        )
        run = get_run(session, run_id)
        if not getattr(taken, "rowcount", 0):
            if run.state == RunState.DONE:
                raise HedgerowError(f"Run {run_id} has already finished.")
            raise HedgerowError(
                f"Run {run_id} is already running in process {run.pid} on {run.host}; wait for "
                "it, or cancel it first."
            )
        return run
