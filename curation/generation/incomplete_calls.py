"""Calls of a run that failed, or whose answers lack a requested type."""

from typing import NamedTuple

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from db.models import Anchor, AnchorRevision, Answer, CallState, ModelCall


class IncompleteCall(NamedTuple):
    """A call that failed, or whose answer lacks a type.

    Attributes:
        uid, anchor: uid and text of the anchor in the call.
        types: ids of the requested types.
        state: failed, or incomplete.
        problem: the problem of the last answer.
    """

    uid: str
    anchor: str
    role: str
    types: list[str]
    state: str
    problem: str


def incomplete_calls(session: Session, run_id: int) -> list[IncompleteCall]:
    """The failed or incomplete calls of a run, in the order of the anchors."""
    last = (
        select(col(Answer.error))
        .where(col(Answer.call_id) == col(ModelCall.id))
        .order_by(col(Answer.id).desc())
        .limit(1)
        .scalar_subquery()
    )
    query = (
        select(
            col(Anchor.uid),
            col(AnchorRevision.text),
            col(ModelCall.role),
            col(ModelCall.type_ids),
            col(ModelCall.state),
            func.coalesce(last, col(ModelCall.problem)),
        )
        .join(Anchor, col(Anchor.id) == ModelCall.anchor_id)
        .join(
            AnchorRevision,
            (col(AnchorRevision.anchor_id) == ModelCall.anchor_id)
            & (col(AnchorRevision.revision) == ModelCall.anchor_revision),
        )
        .where(col(ModelCall.run_id) == run_id, _lacking())
        .order_by(col(ModelCall.anchor_id), col(ModelCall.id))
    )
    return [
        IncompleteCall(
            uid,
            anchor,
            role,
            types,
            "failed" if state is CallState.FAILED else "incomplete",
            detail,
        )
        for uid, anchor, role, types, state, detail in session.execute(query)
    ]


def _lacking() -> ColumnElement[bool]:
    return (col(ModelCall.state) == CallState.FAILED) | (col(ModelCall.problem) != "")


def has_failures(session: Session, run_id: int) -> bool:
    """Whether any call of a run failed or got an incomplete answer."""
    query = select(col(ModelCall.id)).where(col(ModelCall.run_id) == run_id, _lacking()).limit(1)
    return session.execute(query).first() is not None
