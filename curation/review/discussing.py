"""Marking a card “discuss”: it is listed until somebody lifts the mark, or settles the variant.

A mark decides nothing. Marks, lifts and what takes either back are rows of one append-only table.
"""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, and_, or_, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.anchors.current_revision import of_current_revision
from curation.review.history import stands
from curation.review.notes import clean_lines
from curation.review.people.reviewers import is_by, shown_name
from curation.review.shown_card import MAX_NOTE
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
    """A mark that nobody has lifted, with its variant.

    Attributes:
        variant_id: of the variant, as uid, type_id, text and status.
        anchor: its anchor's current wording.
        reviewer: who marked it.
        remark: what about; '' for no remark.
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
    """A mark or a lift, as the history of a variant shows it.

    Attributes:
        undone: taken back since.
    """

    reviewer: str
    kind: MarkKind
    remark: str
    at: datetime
    undone: bool


class OwnMark(NamedTuple):
    """A mark or a lift of the reviewer who asks."""

    id: int
    variant_id: int
    kind: MarkKind
    at: datetime


def _not_undone(row: type[DiscussMark]) -> ColumnElement[bool]:
    undo = aliased(DiscussMark)
    return (
        ~select(col(undo.id))
        .where(col(undo.of_id) == col(row.id), col(undo.kind) == MarkKind.UNDO)
        .exists()
    )


def _not_lifted() -> ColumnElement[bool]:
    """SQL: no lift of this mark stands."""
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
    """SQL: the row is a mark that stands, and its variant has not been settled since."""
    settled = (
        select(col(Decision.id))
        .where(
            col(Decision.variant_id) == col(DiscussMark.variant_id),
            col(Decision.adjudicates),
            col(Decision.decided_at) > col(DiscussMark.created_at),
            stands(),
        )
        .exists()
    )
    is_mark = col(DiscussMark.kind) == MarkKind.MARK
    return and_(is_mark, _not_undone(DiscussMark), _not_lifted(), ~settled)


def mark(session: Session, variant_id: int, *, reviewer_id: int, remark: str = "") -> None:
    """Mark a variant “discuss”; its status and version stay as they are.

    Args:
        remark: at most ``MAX_NOTE`` characters; may be empty.

    Raises:
        HedgerowError: it is marked already, or the remark is too long or not plain text.
    """
    clean = clean_lines(remark)
    if len(clean) > MAX_NOTE:
        raise HedgerowError(
            f"Expected a remark of at most {MAX_NOTE} characters, found {len(clean)}; shorten it."
        )
    if by := [found.reviewer for found in open_marks(session, variant_id)]:
        raise HedgerowError(
            f"{by[0]} has marked this variant “discuss” already; leave a note to add a remark."
        )
    row = DiscussMark(
        variant_id=variant_id, reviewer_id=reviewer_id, kind=MarkKind.MARK, remark=clean
    )
    session.add(row)
    session.flush()


def lift(session: Session, variant_id: int, *, reviewer_id: int) -> None:
    """Lift what a variant is marked with, whoever marked it.

    Raises:
        HedgerowError: it is not marked.
    """
    query = select(col(DiscussMark.id)).where(col(DiscussMark.variant_id) == variant_id, _is_open())
    ids = session.execute(query).scalars().all()
    if not ids:
        raise HedgerowError(
            "Expected a variant that is marked “discuss”, found one that is not; there is nothing "
            "to lift."
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
    query = select(col(DiscussMark.id)).where(col(DiscussMark.variant_id) == variant_id, _is_open())
    return session.execute(query.limit(1)).first() is not None


def open_marks(
    session: Session,
    variant_id: int | None = None,
    *,
    type_id: str | None = None,
    source_id: int | None = None,
    limit: int | None = None,
) -> list[OpenMark]:
    """The marks that nobody has lifted, the oldest first.

    Args:
        variant_id: of this variant; None for all.
        type_id, source_id: only of these; None for all.
    """
    query = _marked(variant_id, type_id, source_id).order_by(col(DiscussMark.id)).limit(limit)
    return [OpenMark(*row) for row in session.execute(query)]


def _marked(
    variant_id: int | None, type_id: str | None, source_id: int | None
) -> Select[int, str, str, str, str, Status, str, str, datetime]:
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
        .where(_is_open())
    )
    if variant_id is not None:
        query = query.where(col(DiscussMark.variant_id) == variant_id)
    if type_id is not None:
        query = query.where(col(Variant.type_id) == type_id)
    if source_id is not None:
        query = query.where(col(Variant.source_id) == source_id)
    return query


def mark_events(session: Session, variant_id: int) -> list[MarkEvent]:
    """All marks and lifts of a variant, the oldest first; an undo is told on what it took back."""
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


def latest_mark(session: Session, reviewer_id: int) -> OwnMark | None:
    """The latest mark or lift of a reviewer that still has an effect; None for none."""
    query = (
        select(
            col(DiscussMark.id),
            col(DiscussMark.variant_id),
            col(DiscussMark.kind),
            col(DiscussMark.created_at),
        )
        .where(
            is_by(session, DiscussMark.reviewer_id, reviewer_id),
            or_(_is_open(), col(DiscussMark.kind) == MarkKind.LIFT),
            _not_undone(DiscussMark),
        )
        .order_by(col(DiscussMark.id).desc())
        .limit(1)
    )
    row = session.execute(query).first()
    return None if row is None else OwnMark(*row)


def undo_mark(session: Session, made: OwnMark, *, reviewer_id: int) -> None:
    """Take back a mark, or a lift."""
    session.add(
        DiscussMark(
            variant_id=made.variant_id,
            reviewer_id=reviewer_id,
            kind=MarkKind.UNDO,
            of_id=made.id,
        )
    )
    session.flush()
