"""Drafts: text that reviewers have typed but not saved, stored in case their window is lost.

A draft belongs to a reviewer, a variant and an editor. If two windows write in the same editor, the
later text is stored.
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
"""The contents of an editor's fields, by name."""


class DraftKind(StrEnum):
    """The editor that a draft was typed in."""

    EDIT = "edit"
    SUGGESTION = "suggestion"
    REJECT = "reject"
    NOTE = "note"
    WRITE = "write"
    DISCUSS = "discuss"


DECIDING = (DraftKind.EDIT, DraftKind.SUGGESTION, DraftKind.REJECT)
"""Drafts that are deleted when the card is decided. Notes and own variants are kept."""


def find_draft(
    session: Session, variant_id: int, kind: DraftKind, *, reviewer_id: int
) -> dict[str, str]:
    """The reviewer's draft in this editor; empty if there is none."""
    row = session.get(Draft, (reviewer_id, variant_id, kind.value))
    return {} if row is None else dict(row.fields)


class FoundDraft(NamedTuple):
    """A draft: its editor and the contents of its fields."""

    kind: DraftKind
    fields: dict[str, str]


def newest_draft(session: Session, variant_id: int, *, reviewer_id: int) -> FoundDraft | None:
    """The reviewer's latest draft on a card, or None."""
    query = (
        select(Draft)
        .where(col(Draft.reviewer_id) == reviewer_id, col(Draft.variant_id) == variant_id)
        .order_by(col(Draft.typed_at).desc())
    )
    row = session.execute(query.limit(1)).scalar()
    return None if row is None else FoundDraft(DraftKind(row.kind), dict(row.fields))


def drafted_variants(session: Session, *, reviewer_id: int) -> set[int]:
    """The ids of the variants on which the reviewer has a draft."""
    query = select(col(Draft.variant_id)).where(col(Draft.reviewer_id) == reviewer_id)
    return set(session.execute(query).scalars())


def keep_draft(
    session: Session, variant_id: int, kind: DraftKind, fields: Fields, *, reviewer_id: int
) -> None:
    """Store the contents of the editor, replacing the draft before.

    Null characters are removed, because PostgreSQL cannot store them.
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
    """Delete the reviewer's drafts in these editors on this card."""
    session.execute(
        delete(Draft).where(
            col(Draft.reviewer_id) == reviewer_id,
            col(Draft.variant_id) == variant_id,
            col(Draft.kind).in_([kind.value for kind in kinds]),
        )
    )
