"""Notes on a variant: remarks of reviewers that decide nothing.

A note that its writer has taken back stays stored, with a further row that says so; nothing here
shows it but the history.
"""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import canonical
from curation.review.people.reviewers import is_by, shown_name
from curation.review.shown_card import MAX_NOTE
from db.columns import now
from db.engine import insert_new
from db.errors import HedgerowError
from db.models import Note, NoteRetraction, Reviewer


class WrittenNote(NamedTuple):
    """A note with who wrote it."""

    reviewer: str
    text: str
    created_at: datetime


class OwnNote(NamedTuple):
    """A note of the reviewer who asks."""

    id: int
    variant_id: int
    at: datetime


def is_kept() -> ColumnElement[bool]:
    """SQL: the note has not been taken back."""
    return (
        ~select(col(NoteRetraction.note_id)).where(col(NoteRetraction.note_id) == Note.id).exists()
    )


def clean_lines(text: str) -> str:
    """A remark in canonical form; line breaks stay.

    Raises:
        HedgerowError: it is not plain text.
    """
    return "\n".join(canonical(line) for line in text.strip().splitlines()).strip()


def add_note(session: Session, variant_id: int, *, reviewer_id: int, text: str) -> Note:
    """Store a note; the variant's status and version stay as they are.

    Args:
        text: at most ``MAX_NOTE`` characters; line breaks stay.

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


def notes(session: Session, variant_id: int) -> list[WrittenNote]:
    """The notes on a variant, the oldest first."""
    return _written(session, variant_id, is_kept())


def removed_notes(session: Session, variant_id: int) -> list[WrittenNote]:
    """The notes on a variant that their writers have taken back, the oldest first."""
    return _written(session, variant_id, ~is_kept())


def _written(
    session: Session, variant_id: int, condition: ColumnElement[bool]
) -> list[WrittenNote]:
    query = (
        select(shown_name(), col(Note.text), col(Note.created_at))
        .join(Reviewer, col(Reviewer.id) == col(Note.reviewer_id))
        .where(col(Note.variant_id) == variant_id, condition)
        .order_by(col(Note.id))
    )
    return [WrittenNote(*row) for row in session.execute(query)]


def count_notes(session: Session, variant_id: int, *, reviewer_id: int | None = None) -> int:
    """How many notes a variant has, of this reviewer or of all."""
    query = select(func.count()).select_from(Note)
    query = query.where(col(Note.variant_id) == variant_id, is_kept())
    if reviewer_id is not None:
        query = query.where(is_by(session, Note.reviewer_id, reviewer_id))
    return session.execute(query).scalar_one()


def latest_note(session: Session, reviewer_id: int) -> OwnNote | None:
    """The latest note of a reviewer that has not been taken back; None for none."""
    query = (
        select(col(Note.id), col(Note.variant_id), col(Note.created_at))
        .where(is_by(session, Note.reviewer_id, reviewer_id), is_kept())
        .order_by(col(Note.id).desc())
        .limit(1)
    )
    row = session.execute(query).first()
    return None if row is None else OwnNote(*row)


def retract_note(session: Session, note_id: int) -> None:
    """Take a note back; one that another window has just taken back stays so."""
    insert_new(session, NoteRetraction, [{"note_id": note_id, "retracted_at": now()}])
