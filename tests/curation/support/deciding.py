"""Deciding on variants in tests, each as if its card had just been shown."""

from datetime import UTC, datetime

from sqlalchemy.orm import Session

from curation.review import deciding
from db.models import Release, Variant

MOMENT = datetime(2026, 5, 4, 12, tzinfo=UTC)

Released = tuple[Session, list[dict[str, Variant]], Release]
"""A project, its families (type → variant), and their release."""


def card(session: Session, variant: Variant) -> deciding.ShownCard:
    return deciding.shown(session.get_one(Variant, variant.id), at=MOMENT)


def accept(session: Session, variant: Variant, reviewer: int) -> None:
    deciding.accept(session, card(session, variant), reviewer_id=reviewer)


def reject(session: Session, variant: Variant, reviewer: int, reason: str = "wrong_type") -> None:
    deciding.reject(session, card(session, variant), reviewer_id=reviewer, reason=reason)


def edit(session: Session, variant: Variant, reviewer: int, text: str) -> None:
    deciding.edit(session, card(session, variant), reviewer_id=reviewer, text=text)
