"""Notes on a variant: remarks of reviewers that decide nothing."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select
from sqlmodel import Session, col

from curation.showing import MAX_NOTE
from curation.text import canonical
from db.errors import HedgerowError
from db.models import Note, Reviewer


class WrittenNote(NamedTuple):
    """A note with who wrote it."""

    reviewer: str
    text: str
    created_at: datetime


def add_note(session: Session, variant_id: int, *, reviewer_id: int, text: str) -> Note:
    """Store a note; the variant's status and version stay as they are.

    Args:
        text: at most ``MAX_NOTE`` characters; line breaks stay.

    Raises:
        HedgerowError: it is empty, too long or not plain text.
    """
    clean = "\n".join(canonical(line) for line in text.strip().splitlines()).strip()
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
    query = (
        select(col(Reviewer.name), col(Note.text), col(Note.created_at))
        .join(Reviewer, col(Reviewer.id) == col(Note.reviewer_id))
        .where(col(Note.variant_id) == variant_id)
        .order_by(col(Note.id))
    )
    return [WrittenNote(*row) for row in session.execute(query)]


def count_notes(session: Session, variant_id: int) -> int:
    """How many notes a variant has."""
    query = select(func.count()).select_from(Note).where(col(Note.variant_id) == variant_id)
    return session.execute(query).scalar_one()
