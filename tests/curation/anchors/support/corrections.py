"""Correcting the anchor of a family, and its variants afterwards."""

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.changes import (
    correct_anchor,
)
from db.models import (
    Status,
    Variant,
)

NEW = "The old bridge is safe."


def correct(session: Session, who: int, text: str = NEW, *, seen: int = 1) -> int:
    """The number of second looks that the correction causes."""
    return correct_anchor(session, 1, text, reviewer_id=who, expected_revision=seen).second_looks


def standings(session: Session) -> dict[str, tuple[Status, bool]]:
    """Type → status of its variant, and whether it needs a second look."""
    found = session.execute(select(Variant).order_by(col(Variant.id))).scalars()
    return {v.type_id: (v.status, v.second_look) for v in found}


def variant(session: Session, type_id: str = "verbal") -> Variant:
    """The first variant of this type."""
    query = select(Variant).where(col(Variant.type_id) == type_id).order_by(col(Variant.id))
    return session.execute(query).scalars().first() or pytest.fail("no such variant")
