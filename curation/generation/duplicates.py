"""Prevents two runs from making the same calls.

A run never repeats a call, but two runs don't know about each other: both could plan the same call
before either has made it, and both calls would cost money.
"""

from sqlalchemy import Select, Text, cast, delete, func, select, update
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.generation.answers import AnswerProblem
from curation.generation.calls import count_calls
from curation.generation.request import KIND
from db.errors import HedgerowError
from db.models import Answer, CallState, ModelCall, Run
from db.runs import UNFINISHED, get_run


def check_alone(session: Session, run_id: int) -> None:
    """Refuse to carry out a run while another run is making some of the same calls.

    Raises:
        HedgerowError: another run is; the message names it.
    """
    for other in _others_at_work(session, run_id):
        if shared := _shared(session, run_id, other):
            raise HedgerowError(
                f"Run {other} is making {shared:,} of the same calls, so you would pay for them "
                "twice; wait for it to finish, or cancel it."
            )


def _others_at_work(session: Session, run_id: int) -> list[int]:
    """Return runs of this kind that are queued or running and whose process is alive."""
    query = select(col(Run.id)).where(
        col(Run.kind) == KIND, col(Run.id) != run_id, col(Run.state).in_(UNFINISHED)
    )
    found = session.execute(query).scalars().all()
    return [number for number in found if get_run(session, number).state in UNFINISHED]


def _shared(session: Session, run_id: int, other: int) -> int:
    mine, theirs = aliased(ModelCall), aliased(ModelCall)
    query = (
        select(func.count())
        .select_from(mine)
        .join(theirs, (col(theirs.key) == mine.key) & (col(theirs.run_id) == other))
        .where(
            col(mine.run_id) == run_id,
            col(mine.state) == CallState.OPEN,
            col(theirs.state) == CallState.OPEN,
        )
    )
    return session.execute(query).scalar_one()


def leave_out_made(session: Session, run_id: int) -> None:
    """Remove calls that another run has made since this one was planned.

    Untried calls are deleted. Calls that failed keep their answers and are closed as made
    meanwhile. Calls in a batch stay because they are being answered.
    """
    needless = _needless(session, run_id)
    if needless is None:
        return
    untried = needless.where(col(_MINE.attempts) == 0)
    session.execute(delete(ModelCall).where(col(ModelCall.id).in_(untried)))
    session.execute(
        update(ModelCall)
        .where(col(ModelCall.id).in_(needless))
        .values(state=CallState.FAILED, problem=AnswerProblem.MADE.value)
    )


def count_left(session: Session, run_id: int) -> int:
    """Number of calls that a run would make if it continued now."""
    needless = _needless(session, run_id)
    mine = select(func.count()).where(
        col(ModelCall.run_id) == run_id, col(ModelCall.state) == CallState.OPEN
    )
    if needless is not None:
        mine = mine.where(col(ModelCall.id).not_in(needless))
    return session.execute(mine).scalar_one()


_MINE, _THEIRS = aliased(ModelCall), aliased(ModelCall)


def _needless(session: Session, run_id: int) -> Select[int | None] | None:
    """SQL: ids of a run's open calls for types that another run has received answers for since."""
    planned = session.get_one(Run, run_id).created_at
    since = (col(Run.finished_at).is_(None)) | (col(Run.finished_at) > planned)
    others = select(col(Run.id)).where(
        col(Run.kind) == KIND, col(Run.id) != run_id, col(Run.attempt) > 0, since
    )
    numbers = session.execute(others).scalars().all()
    if not numbers:
        return None
    made = (
        select(col(_THEIRS.id))
        .join(Answer, col(Answer.call_id) == _THEIRS.id)
        .where(
            col(_THEIRS.run_id).in_(numbers),
            col(_THEIRS.anchor_id) == _MINE.anchor_id,
            col(_THEIRS.role) == _MINE.role,
            cast(col(_THEIRS.type_ids), Text) == cast(col(_MINE.type_ids), Text),
            col(_THEIRS.state) == CallState.DONE,
            col(Answer.created_at) > planned,
        )
        .exists()
    )
    return select(col(_MINE.id)).where(
        col(_MINE.run_id) == run_id,
        col(_MINE.state) == CallState.OPEN,
        col(_MINE.batch) == "",
        made,
    )


def calls_by_state(session: Session, run_id: int) -> dict[CallState, int]:
    """The calls of a run by state; open calls are still to be made."""
    return count_calls(session, run_id) | {CallState.OPEN: count_left(session, run_id)}
