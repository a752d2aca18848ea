"""Long work: its row, its lease, its end.

The page (or the command) stores a run and starts ``hedgerow run ID`` as a detached process; the
process claims the row, keeps a lease by the database's clock while it works, and writes how it
ended. Whoever reads a running row whose lease has passed, or whose process was on the same host and
is gone, sees it as interrupted.
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

from sqlalchemy import ColumnElement, Engine, case, func, literal, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from db.columns import db_now, now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Run, RunMetric, RunState

LEASE = timedelta(seconds=20)
"""How long a process may be silent before its run counts as interrupted."""

UNFINISHED = (RunState.QUEUED, RunState.RUNNING)

MOST_UNDER_WAY = 1_000
"""Of one kind; more do not wait at once."""

STOPPED = (RunState.FAILED, RunState.CANCELLED, RunState.INTERRUPTED, RunState.PAUSED)
"""Before its end; such a run can be started again."""

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
    """Store a queued run and give it its folder, ``runs/ID-kind`` below the data folder."""
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
    """A run that does what is asked for, and whether it was stored just now."""

    run: Run
    is_new: bool


def ensure_run(
    session: Session, *, kind: str, parameters: dict[str, Any], requested_by: int | None = None
) -> EnsuredRun:
    """The run of a kind that is under way with these parameters, or a new one.

    Use it for work that catches up with the data, such as measuring: a run under way does what
    came after it was asked for, too. One with other parameters, such as another encoder, does not.
    """
    for run in under_way(session, kind):
        if run.parameters == parameters:
            return EnsuredRun(run, is_new=False)
    run = create_run(session, kind=kind, parameters=parameters, requested_by=requested_by)
    return EnsuredRun(run, is_new=True)


def parts_of(run: Run) -> str:
    """The group of the runs that another one consists of and carries out, such as a study's."""
    return f"{run.kind}-{run.id}"


def package_versions() -> dict[str, str]:
    """The versions that results depend on, by name; those of packages with plug-ins, too."""
    return dict(_package_versions(tuple(sys.path)))


@cache  # each is looked up in a file of its package
def _package_versions(path: tuple[str, ...]) -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for name in _RECORDED_PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    entries = metadata.entry_points()
    groups = [group for group in entries.groups if group.startswith("hedgerow.")]
    theirs = (entry.dist for group in groups for entry in entries.select(group=group))
    return found | {dist.name: dist.version for dist in theirs if dist and dist.name}


def get_run(session: Session, run_id: int) -> Run:
    """The run with this number; its state reads ``interrupted`` where the lease has passed.

    Raises:
        HedgerowError: there is no such run.
    """
    runs = _read(session, Run.id == run_id)
    if not runs:
        raise HedgerowError(f"There is no run {run_id}; 'hedgerow runs list' lists all runs.")
    return runs[0]


def get_runs(session: Session, run_ids: Iterable[int]) -> list[Run]:
    """The runs with these numbers, in their order, as ``get_run`` gives each."""
    return [get_run(session, run_id) for run_id in run_ids]


def list_runs(session: Session, *, kind: str | None = None, limit: int = 20) -> list[Run]:
    """The newest runs first, at most ``limit``, of one kind or of all."""
    return _read(session, literal(True) if kind is None else Run.kind == kind, limit=limit)


def under_way(session: Session, kind: str | None = None) -> list[Run]:
    """The runs of a kind, or of all, that wait or are at work, the newest first."""
    unfinished: Any = col(Run.state).in_(UNFINISHED)
    if kind is not None:
        unfinished &= col(Run.kind) == kind
    found = _read(session, unfinished, limit=MOST_UNDER_WAY)
    return [run for run in found if run.state in UNFINISHED]


def dead_runs(session: Session) -> list[Run]:
    """The runs that are stored as running, and whose process is silent or gone, the newest first.

    Their state reads ``interrupted``.
    """
    running = _read(session, Run.state == RunState.RUNNING, limit=MOST_UNDER_WAY)
    return [run for run in running if run.state == RunState.INTERRUPTED]


def refuse_a_second(session: Session, kind: str) -> None:
    """Refuse to store another run of a kind that works alone.

    Raises:
        HedgerowError: one is waiting or at work.
    """
    for run in under_way(session, kind):
        raise HedgerowError(f"Run {run.id} is already running; wait for it to finish.")


def _read(session: Session, condition: Any, *, limit: int = 1) -> list[Run]:
    silent = case((col(Run.lease_until) < db_now(), True), else_=False)
    query = select(Run, silent).where(condition).order_by(col(Run.id).desc()).limit(limit)
    runs = []
    for run, is_silent in session.execute(query):
        if run.state == RunState.RUNNING and (is_silent or has_ended(run.host, run.pid)):
            session.expunge(run)  # what is derived here is never written back
            run.state = RunState.INTERRUPTED
            run.message = run.message or "The process stopped answering."
        runs.append(run)
    return runs


def has_ended(host: str, pid: int | None) -> bool:
    """Whether a process that worked on a run is known to be gone: it was on this host.

    A number that the system has given to another process in the meantime tells nothing; then the
    lease decides.
    """
    if os.name != "posix" or pid is None or host != socket.gethostname():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is another user's
        return False
    return False


def _abandoned(session: Session, run_id: int) -> ColumnElement[bool]:
    """SQL: the run counts as running, but its process is silent or gone."""
    gone = col(Run.lease_until) < db_now()
    query = select(col(Run.host), col(Run.pid), col(Run.attempt)).where(col(Run.id) == run_id)
    if (row := session.execute(query).first()) and has_ended(row[0], row[1]):
        gone = gone | (col(Run.attempt) == row[2])
    return (col(Run.state) == RunState.RUNNING) & gone


def metrics(session: Session, run_id: int, *, name: str) -> list[tuple[int, float]]:
    """The (step, value) pairs of one measured figure, in step order."""
    query = (
        select(col(RunMetric.step), col(RunMetric.value))
        .where(col(RunMetric.run_id) == run_id, col(RunMetric.name) == name)
        .order_by(col(RunMetric.step))
    )
    return [(step, value) for step, value in session.execute(query)]


def last_metrics(session: Session, run_id: int) -> dict[str, float]:
    """The last value of each measured figure, by the figures' names in alphabetical order."""
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
    """Ask a run to stop. A queued, paused or silent one is cancelled at once, and with it those
    of its parts that wait; one at work cancels them itself.

    Returns:
        The state afterwards; a finished run stays as it is.
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
    """Ask a running run to stop where it is; it can be resumed. Others stay as they are."""
    session.execute(
        update(Run)
        .where(col(Run.id) == run_id, col(Run.state) == RunState.RUNNING)
        .values(pause_requested=True)
    )


def requeue(session: Session, run_id: int) -> None:
    """Make a run that stopped before its end wait for a process again.

    Raises:
        HedgerowError: it is done or under way.
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
            message="Waiting for its process.",
        )
    )
    if not getattr(changed, "rowcount", 0):
        raise HedgerowError(f"Run {run_id} cannot be started again: it is done or running.")


def claim(engine: Engine, run_id: int, *, host: str, pid: int) -> Run:
    """Take the run for this process: a queued one, or one that stopped before its end.

    Raises:
        HedgerowError: it is done, or another process is working on it.
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
