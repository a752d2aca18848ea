"""The state of review windows: reviewers' positions and drafts."""

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel

from db.columns import JsonColumn, UtcDateTime
from db.models.conventions import time_stamp


class ReviewPosition(SQLModel, table=True):
    """A reviewer's position in one browser window, so that a new window continues there.

    ``place`` has the queue, type, source, order and view, and ``variant_id`` is the card. See
    ``curation.review.drafts``.
    """

    __tablename__ = "review_position"

    window: str = Field(primary_key=True, max_length=400)
    reviewer_id: int = Field(foreign_key="reviewer.id")
    variant_id: int | None = Field(default=None, foreign_key="variant.id")
    place: dict[str, Any] = Field(sa_type=JsonColumn)
    seen_at: datetime = Field(sa_type=UtcDateTime)


class Draft(SQLModel, table=True):
    """Text that a reviewer has typed on a card, and neither saved nor discarded.

    ``kind`` is the editor, and ``fields`` its content. See ``curation.review.drafts``.
    """

    reviewer_id: int = Field(primary_key=True, foreign_key="reviewer.id")
    variant_id: int = Field(primary_key=True, foreign_key="variant.id")
    kind: str = Field(primary_key=True, max_length=20)
    fields: dict[str, Any] = Field(sa_type=JsonColumn)
    typed_at: datetime = time_stamp()
