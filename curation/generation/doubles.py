"""That no two runs ask for the same: what is at work elsewhere, and what was made meanwhile.

Within a run no call is made twice. Two runs know nothing of each other: what the one has planned
and not made yet, the other would plan, too, and both would be paid for.
"""

from sqlalchemy import delete, func, select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from curation.generation.request import KIND
from db.errors import HedgerowError
from db.models import Answer, CallState, ModelCall, Run
from db.runs import UNFINISHED, get_run


def check_alone(session: Session, run_id: int) -> None:
    """Refuse to carry out a run while another is at work on calls that it would make, too.

    Raises:
        HedgerowError: as said; names the other run.
    """
    for other in _others_at_work(session, run_id):
        if shared := _shared(session, run_id, other):
            raise HedgerowError(
                f"Run {other} is at work on {shared:,} of the same calls, which would be made and "
                "paid twice; wait for its end, or cancel it."
            )


def _others_at_work(session: Session, run_id: int) -> list[int]:
    """Runs of this kind that are queued or running, and not given up by their process."""
    query = select(col(Run.id)).where(
        col(Run.kind) == KIND, col(Run.id) != run_id, col(Run.state).in_(UNFINISHED)
    )
    found = [number or 0 for number in session.execute(query).scalars()]
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


def leave_out_made(session: Session, run_id: int) -> int:
    """Take those calls out of a run that another run has made since this one was planned.

    Calls that were tried already, or lie in a batch, stay: they have been paid for.

    Returns:
        How many were taken out.
    """
    planned = session.get_one(Run, run_id).created_at
    since = (col(Run.finished_at).is_(None)) | (col(Run.finished_at) > planned)
    others = session.execute(
        select(col(Run.id)).where(
            col(Run.kind) == KIND, col(Run.id) != run_id, col(Run.attempt) > 0, since
        )
    )
    numbers = others.scalars().all()
    if not numbers:
        return 0
    mine, theirs = aliased(ModelCall), aliased(ModelCall)
    made = (
        select(col(theirs.id))
        .join(Answer, col(Answer.call_id) == theirs.id)
        .where(
            col(theirs.run_id).in_(numbers),
            col(theirs.anchor_id) == mine.anchor_id,
            col(theirs.role) == mine.role,
            col(theirs.state) == CallState.DONE,
            col(Answer.created_at) > planned,
        )
        .exists()
    )
    needless = select(col(mine.id)).where(
        col(mine.run_id) == run_id, col(mine.state) == CallState.OPEN,
        col(mine.attempts) == 0, col(mine.batch) == "", made,
    )  # fmt: skip
    taken = session.execute(delete(ModelCall).where(col(ModelCall.id).in_(needless)))
    return int(getattr(taken, "rowcount", 0))
