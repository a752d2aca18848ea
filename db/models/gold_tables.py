"""Gold items, whose correct verdict is known, and answers in practice rounds."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from db.columns import UtcDateTime, enum_column
from db.models.conventions import time_stamp
from db.models.decision_tables import Verdict


class GoldUse(StrEnum):
    """The use of a gold item: mixed into the review queue, or for practice rounds (training)."""

    MIXED = "mixed"
    TRAINING = "training"


class GoldItem(SQLModel, table=True):
    """A variant whose correct verdict is known: that of the settlement ``decision_id``.

    That decision also has its maker, time and reason. Practice rounds show ``explanation``. The
    item is current until ``removed_at`` is set or the settlement is undone.
    """

    __tablename__ = "gold_item"
    __table_args__ = (Index(None, "variant_id"),)

    decision_id: int = Field(primary_key=True, foreign_key="decision.id")
    variant_id: int = Field(foreign_key="variant.id")
    use: GoldUse = Field(sa_type=enum_column(GoldUse))
    explanation: str = Field(default="", sa_type=Text)
    removed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class PracticeAnswer(SQLModel, table=True):
    """A reviewer's answer on a gold item in a practice round. It is not a decision.

    ``round`` is the number of the reviewer's round, from 1.
    """

    __tablename__ = "practice_answer"
    __table_args__ = (UniqueConstraint("reviewer_id", "round", "gold_id"),)

    id: int = Field(default=None, primary_key=True)
    reviewer_id: int = Field(foreign_key="reviewer.id")
    gold_id: int = Field(foreign_key="gold_item.decision_id")
    round: int = 1
    verdict: Verdict = Field(sa_type=enum_column(Verdict))
    reason: str = Field(default="", max_length=40)
    answered_at: datetime = time_stamp()
