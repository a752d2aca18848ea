"""What reviewers have on their screens and have not stored yet: their places and their drafts."""

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel

from db.columns import JsonColumn, UtcDateTime
from db.models.conventions import time_stamp


class ReviewPosition(SQLModel, table=True):
    """Where a reviewer is in one browser window, so that a new one goes on from there.

    ``place`` is the queue, the type, the source, the order and the view; ``variant_id`` the card.
    See ``curation.review.positions``.
    """

    __tablename__ = "review_position"

    window: str = Field(primary_key=True, max_length=400)
    reviewer_id: int = Field(foreign_key="reviewer.id")
    variant_id: int | None = Field(default=None, foreign_key="variant.id")
    place: dict[str, Any] = Field(sa_type=JsonColumn)
    seen_at: datetime = Field(sa_type=UtcDateTime)


class Draft(SQLModel, table=True):
    """What a reviewer has typed on a card, and neither saved nor discarded.

    ``kind`` is the editor, ``fields`` what its fields hold. See ``curation.review.drafts``.
    """

    reviewer_id: int = Field(primary_key=True, foreign_key="reviewer.id")
    variant_id: int = Field(primary_key=True, foreign_key="variant.id")
    kind: str = Field(primary_key=True, max_length=20)
    fields: dict[str, Any] = Field(sa_type=JsonColumn)
    typed_at: datetime = time_stamp()
