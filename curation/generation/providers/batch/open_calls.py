"""The batch of each open call: none, a label for a future batch, or a batch id.

The functions that write change open calls only.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.storing import chunks
from curation.generation.calls import Call, open_calls
from curation.generation.request import Price
from db.models import Anchor, Answer, CallState, ModelCall


def _open(run_id: int) -> tuple[Any, ...]:
    return col(ModelCall.run_id) == run_id, col(ModelCall.state) == CallState.OPEN


def taken_place(session: Session, run_id: int) -> str:
    """Return the batch or label that open calls have; '' if none."""
    query = select(col(ModelCall.batch)).where(*_open(run_id), col(ModelCall.batch) != "")
    return session.execute(query.limit(1)).scalar() or ""


def calls_in(session: Session, run_id: int, place: str) -> Iterator[Call]:
    """Yield all open calls with this batch or label, with one block in memory at a time."""
    after = 0
    while block := open_calls(session, run_id, batch=place, after=after):
        yield from block
        after = block[-1].id


def one_a_role(session: Session, run_id: int) -> list[Call]:
    """Return the first open call of each role."""
    query = select(func.min(col(ModelCall.id))).where(*_open(run_id)).group_by(col(ModelCall.role))
    ids = [call_id for call_id in session.execute(query).scalars() if call_id is not None]
    return open_calls(session, run_id, ids=ids)


def put(session: Session, run_id: int, ids: Sequence[int], place: str) -> None:
    """Assign these calls to a batch or label."""
    for some in chunks(ids):
        of_these = (col(ModelCall.id).in_(some), *_open(run_id))
        session.execute(update(ModelCall).where(*of_these).values(batch=place))


def label(session: Session, run_id: int, ids: Sequence[int], place: str) -> None:
    """Assign these calls to a label, each with the current revision of its anchor."""
    revision = select(col(Anchor.revision)).where(col(Anchor.id) == col(ModelCall.anchor_id))
    for some in chunks(ids):
        of_these = (col(ModelCall.id).in_(some), *_open(run_id))
        session.execute(
            update(ModelCall)
            .where(*of_these)
            .values(batch=place, anchor_revision=revision.scalar_subquery())
        )


def move(session: Session, run_id: int, old: str, new: str) -> int:
    """Move all calls with one batch or label to another; return their number."""
    of_these = (*_open(run_id), col(ModelCall.batch) == old)
    moved = session.execute(update(ModelCall).where(*of_these).values(batch=new))
    return getattr(moved, "rowcount", 0)


def mean_costs(session: Session, run_id: int, price: Price) -> dict[str, float]:
    """Return the mean cost of a call by role, from the run's answers so far and this price."""
    query = (
        select(
            col(ModelCall.role),
            func.avg(col(Answer.prompt_tokens)),
            func.avg(col(Answer.completion_tokens)),
        )
        .join(Answer, col(Answer.call_id) == ModelCall.id)
        .where(col(ModelCall.run_id) == run_id, col(Answer.prompt_tokens).is_not(None))
        .group_by(col(ModelCall.role))
    )
    return {
        role: (float(prompt) * price.prompt + float(completion or 0) * price.completion) / 1e6
        for role, prompt, completion in session.execute(query)
    }
