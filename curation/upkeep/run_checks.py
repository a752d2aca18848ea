"""Checks for leftovers of processes that ended unexpectedly: runs and leases."""

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.upkeep.found import Check, Found
from db.columns import db_now, now
from db.models import Lease, Run, RunState
from db.runs import dead_runs
from db.settings import Settings


def _dead(session: Session, settings: Settings) -> Found:
    runs = dead_runs(session)
    return Found(len(runs), f"run {runs[0].id}, {runs[0].kind}" if runs else "")


def _end(session: Session, found: Found) -> None:
    """Store the state that readers derive: interrupted, so that the run can be started again."""
    for run in dead_runs(session):
        session.execute(
            update(Run)
            .where(col(Run.id) == run.id, col(Run.attempt) == run.attempt)
            .values(state=RunState.INTERRUPTED, message=run.message, finished_at=now())
        )


def _expired(session: Session, settings: Settings) -> Found:
    query = select(func.count()).select_from(Lease).where(col(Lease.until) <= db_now())
    return Found(session.execute(query).scalar_one())


def _clear(session: Session, found: Found) -> None:
    session.execute(delete(Lease).where(col(Lease.until) <= db_now()))


CHECKS = (
    Check(
        id="runs", title="Runs marked as running whose process has ended", find=_dead, repair=_end
    ),
    Check(
        id="leases", title="Expired leases of cards", find=_expired, repair=_clear, harmless=True
    ),
)
