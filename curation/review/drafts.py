"""What reviewers have typed on a card and not saved yet, kept for when their window is lost.

A draft belongs to a reviewer, a variant and an editor: of two windows that write in the same one,
the later hands its text on.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.orm import Session
from sqlmodel import col

from db.columns import now
from db.models import Draft

Fields = Mapping[str, str]
"""What an editor's fields hold, by their names."""


class DraftKind(StrEnum):
    """The editor that a draft was typed in."""

    EDIT = "edit"
    SUGGESTION = "suggestion"
    REJECT = "reject"
    NOTE = "note"
    WRITE = "write"
    DISCUSS = "discuss"


DECIDING = (DraftKind.EDIT, DraftKind.SUGGESTION, DraftKind.REJECT)
"""What these hold is forgotten once the card is decided; a note and an own variant are not."""


def find_draft(
    session: Session, variant_id: int, kind: DraftKind, *, reviewer_id: int
) -> dict[str, str]:
    """What the reviewer has typed in this editor; empty for nothing."""
    row = session.get(Draft, (reviewer_id, variant_id, kind.value))
    return {} if row is None else dict(row.fields)


class FoundDraft(NamedTuple):
    """A draft: in which editor, and what its fields held."""

    kind: DraftKind
    fields: dict[str, str]


def newest_draft(session: Session, variant_id: int, *, reviewer_id: int) -> FoundDraft | None:
    """What the reviewer has typed last on a card, if there is a draft."""
    query = (
        select(Draft)
        .where(col(Draft.reviewer_id) == reviewer_id, col(Draft.variant_id) == variant_id)
        .order_by(col(Draft.typed_at).desc())
    )
    row = session.execute(query.limit(1)).scalar()
    return None if row is None else FoundDraft(DraftKind(row.kind), dict(row.fields))


def drafted_variants(session: Session, *, reviewer_id: int) -> set[int]:
    """The variants that the reviewer has a draft on."""
    query = select(col(Draft.variant_id)).where(col(Draft.reviewer_id) == reviewer_id)
    return set(session.execute(query).scalars())


def keep_draft(
    session: Session, variant_id: int, kind: DraftKind, fields: Fields, *, reviewer_id: int
) -> None:
    """Store what the editor holds now, in place of what it held before.

    Without null characters, which PostgreSQL does not hold.
    """
    session.merge(
        Draft(
            reviewer_id=reviewer_id,
            variant_id=variant_id,
            kind=kind.value,
            fields={name: value.replace("\0", "") for name, value in fields.items()},
            typed_at=now(),
        )
    )


def forget_drafts(
    session: Session, variant_id: int, kinds: Collection[DraftKind], *, reviewer_id: int
) -> None:
    """Forget what the reviewer has typed in these editors on this card."""
    session.execute(
        delete(Draft).where(
            col(Draft.reviewer_id) == reviewer_id,
            col(Draft.variant_id) == variant_id,
            col(Draft.kind).in_([kind.value for kind in kinds]),
        )
    )
