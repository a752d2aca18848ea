"""Mark a card for discussion: it is listed until somebody removes the mark or settles the variant.

A mark is not a decision. Marks, their removals ("lifts") and undos of either are rows of one
append-only table.
"""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.anchors.revisions import of_current_revision
from curation.content_uids import at_most
from curation.decisions.history import not_retracted
from curation.decisions.notes import clean_lines
from curation.decisions.reviewers import is_by, shown_name
from curation.decisions.shown_card import MAX_NOTE
from db.columns import limited_to
from db.errors import HedgerowError
from db.models import (
    Anchor,
    AnchorRevision,
    Decision,
    DiscussMark,
    MarkKind,
    Reviewer,
    Status,
    Variant,
)


class OpenMark(NamedTuple):
    """A mark that nobody has removed, with its variant.

    Attributes:
        variant_id, uid, type_id, text, status: the variant's.
        anchor: the current text of its anchor.
        reviewer: the name of the person who made the mark.
        remark: what to discuss; '' for none.
    """

    variant_id: int
    uid: str
    type_id: str
    anchor: str
    text: str
    status: Status
    reviewer: str
    remark: str
    marked_at: datetime


class MarkEvent(NamedTuple):
    """A mark or its removal, as shown in the history of a variant.

    Attributes:
        undone: it has been undone.
    """

    reviewer: str
    kind: MarkKind
    remark: str
    at: datetime
    undone: bool


def _not_undone(row: type[DiscussMark]) -> ColumnElement[bool]:
    undo = aliased(DiscussMark)
    return (
        ~select(col(undo.id))
        .where(col(undo.of_id) == col(row.id), col(undo.kind) == MarkKind.UNDO)
        .exists()
    )


def _not_lifted() -> ColumnElement[bool]:
    """SQL: nobody has removed this mark, or every removal was undone."""
    lift = aliased(DiscussMark)
    return (
        ~select(col(lift.id))
        .where(
            col(lift.of_id) == col(DiscussMark.id),
            col(lift.kind) == MarkKind.LIFT,
            _not_undone(lift),
        )
        .exists()
    )


def _is_open() -> ColumnElement[bool]:
    """SQL: the row is a mark that was not undone or removed, and its variant has not been settled
    since then."""
    settled = (
        select(col(Decision.id))
        .where(
            col(Decision.variant_id) == col(DiscussMark.variant_id),
            col(Decision.adjudicates),
            col(Decision.decided_at) > col(DiscussMark.created_at),
            not_retracted(),
        )
        .exists()
    )
    is_mark = col(DiscussMark.kind) == MarkKind.MARK
    return and_(is_mark, _not_undone(DiscussMark), _not_lifted(), ~settled)


def mark(session: Session, variant_id: int, *, reviewer_id: int, remark: str = "") -> None:
    """Mark a variant for discussion. Its status and version do not change.

    Args:
        remark: at most ``MAX_NOTE`` characters; may be empty.

    Raises:
        HedgerowError: the variant is already marked, or the remark is too long or not plain text.
    """
    clean = at_most(MAX_NOTE, clean_lines(remark), "a remark")
    if by := [found.reviewer for found in open_marks(session, variant_id)]:
        raise HedgerowError(
            f"{by[0]} has already marked this variant for discussion. To add a remark, leave a "
            "note."
        )
    row = DiscussMark(
        variant_id=variant_id, reviewer_id=reviewer_id, kind=MarkKind.MARK, remark=clean
    )
    session.add(row)
    session.flush()


def lift(session: Session, variant_id: int, *, reviewer_id: int) -> None:
    """Remove the mark for discussion from a variant, whoever made it.

    Raises:
        HedgerowError: the variant is not marked.
    """
    query = select(col(DiscussMark.id)).where(col(DiscussMark.variant_id) == variant_id, _is_open())
    ids = session.execute(query).scalars().all()
    if not ids:
        raise HedgerowError(
            "This variant is not marked for discussion, so there is no mark to remove."
        )
    session.add_all(
        DiscussMark(
            variant_id=variant_id, reviewer_id=reviewer_id, kind=MarkKind.LIFT, of_id=mark_id
        )
        for mark_id in ids
    )
    session.flush()


def is_marked(session: Session, variant_id: int) -> bool:
    """Whether a variant has an open mark."""
    return bool(open_marks(session, variant_id, limit=1))


def open_marks(
    session: Session,
    variant_id: int | None = None,
    *,
    type_id: str | None = None,
    source_id: int | None = None,
    limit: int | None = None,
) -> list[OpenMark]:
    """The marks that nobody has removed, oldest first.

    Args:
        variant_id, type_id, source_id: only this variant, type and source; None for all.
    """
    query = (
        select(
            col(Variant.id),
            col(Variant.uid),
            col(Variant.type_id),
            col(AnchorRevision.text),
            col(Variant.text),
            col(Variant.status),
            shown_name(),
            col(DiscussMark.remark),
            col(DiscussMark.created_at),
        )
        .select_from(DiscussMark)
        .join(Variant, col(Variant.id) == col(DiscussMark.variant_id))
        .join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
        .join(AnchorRevision, of_current_revision())
        .join(Reviewer, col(Reviewer.id) == col(DiscussMark.reviewer_id))
        .where(
            _is_open(),
            limited_to(col(DiscussMark.variant_id), variant_id),
            limited_to(col(Variant.type_id), type_id),
            limited_to(col(Variant.source_id), source_id),
        )
        .order_by(col(DiscussMark.id))
        .limit(limit)
    )
    return [OpenMark(*row) for row in session.execute(query)]


def mark_events(session: Session, variant_id: int) -> list[MarkEvent]:
    """All marks and removals of a variant, oldest first. An undo sets ``undone`` on its row."""
    rows = session.execute(
        select(DiscussMark, shown_name())
        .join(Reviewer, col(Reviewer.id) == col(DiscussMark.reviewer_id))
        .where(col(DiscussMark.variant_id) == variant_id)
        .order_by(col(DiscussMark.id))
    ).all()
    undone = {row.of_id for row, _ in rows if row.kind is MarkKind.UNDO}
    return [
        MarkEvent(name, row.kind, row.remark, row.created_at, row.id in undone)
        for row, name in rows
        if row.kind is not MarkKind.UNDO
    ]


def latest_mark(session: Session, reviewer_id: int) -> DiscussMark | None:
    """The reviewer's latest mark or removal that can be undone; None if there is none."""
    query = (
        select(DiscussMark)
        .where(
            is_by(session, DiscussMark.reviewer_id, reviewer_id),
            or_(_is_open(), col(DiscussMark.kind) == MarkKind.LIFT),
            _not_undone(DiscussMark),
        )
        .order_by(col(DiscussMark.id).desc())
        .limit(1)
    )
    return session.execute(query).scalar()


def undo_mark(session: Session, made: DiscussMark, *, reviewer_id: int) -> None:
    """Undo a mark or a removal."""
    session.add(
        DiscussMark(
            variant_id=made.variant_id,
            reviewer_id=reviewer_id,
            kind=MarkKind.UNDO,
            of_id=made.id,
        )
    )
    session.flush()
