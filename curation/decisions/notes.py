"""Notes on a variant: reviewers' remarks that decide nothing.

A note that its writer removes stays in the database with a row that marks it as removed. Only the
history mentions it.
"""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import canonical
from curation.decisions.reviewers import is_by, shown_name
from curation.decisions.shown_card import MAX_NOTE
from db.columns import now
from db.engine import insert_new
from db.errors import HedgerowError
from db.models import Note, NoteRetraction, Reviewer


class WrittenNote(NamedTuple):
    """A note with its writer's name."""

    reviewer: str
    text: str
    created_at: datetime


def is_kept() -> ColumnElement[bool]:
    """SQL: the note has not been removed."""
    return (
        ~select(col(NoteRetraction.note_id)).where(col(NoteRetraction.note_id) == Note.id).exists()
    )


def clean_lines(text: str) -> str:
    """A remark in canonical form. Line breaks are kept.

    Raises:
        HedgerowError: it is not plain text.
    """
    return "\n".join(canonical(line) for line in text.strip().splitlines()).strip()


def add_note(session: Session, variant_id: int, *, reviewer_id: int, text: str) -> Note:
    """Store a note. The variant's status and version do not change.

    Args:
        text: at most ``MAX_NOTE`` characters; line breaks are kept.

    Raises:
        HedgerowError: it is empty, too long or not plain text.
    """
    clean = clean_lines(text)
    if not clean or len(clean) > MAX_NOTE:
        raise HedgerowError(
            f"Expected a note of 1 to {MAX_NOTE} characters, found {len(clean)}; "
            f"{'shorten it' if clean else 'write one'}."
        )
    note = Note(variant_id=variant_id, reviewer_id=reviewer_id, text=clean)
    session.add(note)
    session.flush()
    return note


def notes(session: Session, variant_id: int, *, removed: bool = False) -> list[WrittenNote]:
    """The notes on a variant, or those that their writers have removed, oldest first."""
    query = (
        select(shown_name(), col(Note.text), col(Note.created_at))
        .join(Reviewer, col(Reviewer.id) == col(Note.reviewer_id))
        .where(col(Note.variant_id) == variant_id, ~is_kept() if removed else is_kept())
        .order_by(col(Note.id))
    )
    return [WrittenNote(*row) for row in session.execute(query)]


def count_notes(session: Session, variant_id: int, *, reviewer_id: int | None = None) -> int:
    """The number of notes on a variant, by this reviewer or by all."""
    query = select(func.count()).select_from(Note)
    query = query.where(col(Note.variant_id) == variant_id, is_kept())
    if reviewer_id is not None:
        query = query.where(is_by(session, Note.reviewer_id, reviewer_id))
    return session.execute(query).scalar_one()


def latest_note(session: Session, reviewer_id: int) -> Note | None:
    """The reviewer's latest note that has not been removed; None if there is none."""
    query = (
        select(Note)
        .where(is_by(session, Note.reviewer_id, reviewer_id), is_kept())
        .order_by(col(Note.id).desc())
        .limit(1)
    )
    return session.execute(query).scalar()


def retract_note(session: Session, note_id: int) -> None:
    """Remove a note. Nothing happens if another window has just removed it."""
    insert_new(session, NoteRetraction, [{"note_id": note_id, "retracted_at": now()}])
