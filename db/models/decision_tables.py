"""Reviewers' decisions and notes on variants, and leases of cards."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Index, Text, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from db.columns import UtcDateTime, enum_column
from db.models.conventions import FALSE, index_where_set, time_stamp


class Verdict(StrEnum):
    """The verdict of a decision. A change of type is an edit whose child has another type."""

    ACCEPT = "accept"
    REJECT = "reject"
    EDIT = "edit"
    RETRACT = "retract"


class Decision(SQLModel, table=True):
    """One reviewer's verdict on one variant. Append-only.

    All decisions of one key press or one bulk action have the same ``action_id``. An edit refers to
    the variant that it made (``child_id``), and a retract to the decision that it undoes
    (``retracts_id``). ``blind``: diagnostics and other people's verdicts were hidden.
    """

    __table_args__ = (
        UniqueConstraint("action_id", "variant_id"),
        Index(None, "variant_id", "id"),
        index_where_set("decision", "child_id"),
        index_where_set("decision", "retracts_id"),
        Index(None, "reviewer_id", "id"),
        # Settlements are few among the decisions. The condition is written as in queries.
        Index(
            "ix_decision_settlements",
            "id",
            sqlite_where=text("adjudicates = 1"),
            postgresql_where=text("adjudicates"),
        ),
    )

    id: int = Field(default=None, primary_key=True)
    variant_id: int = Field(foreign_key="variant.id")
    variant_version: int
    reviewer_id: int = Field(foreign_key="reviewer.id")
    verdict: Verdict = Field(sa_type=enum_column(Verdict))
    reason: str = Field(default="", max_length=40)
    note: str = Field(default="", sa_type=Text)
    action_id: str = Field(max_length=36)
    child_id: int | None = Field(default=None, foreign_key="variant.id")
    retracts_id: int | None = Field(default=None, foreign_key="decision.id")
    adjudicates: bool = False
    blind: bool = Field(default=False, sa_column_kwargs=FALSE)
    guideline_version: int = 1
    shown_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    decided_at: datetime = time_stamp()


class Lease(SQLModel, table=True):
    """A variant whose card is on a screen, until the lease expires by the database's clock.

    ``window`` is a reviewer's browser window. See ``curation.decisions.leases``.
    """

    variant_id: int = Field(primary_key=True, foreign_key="variant.id")
    reviewer_id: int = Field(foreign_key="reviewer.id")
    window: str = Field(max_length=400)
    until: datetime = Field(sa_type=UtcDateTime)


class Opinion(SQLModel, table=True):
    """A chat model's second opinion, in addition to its decision.

    If ``verdict`` is an edit, its decision is a rejection, and ``suggestion`` is the text that a
    person may use. ``since_version`` is copied from the variant: a reviewer has one opinion on a
    variant per revision of its anchor. ``certainty`` is in [0, 1], or NULL if none was stated.
    """

    __table_args__ = (UniqueConstraint("variant_id", "reviewer_id", "since_version"),)

    decision_id: int = Field(primary_key=True, foreign_key="decision.id")
    variant_id: int = Field(foreign_key="variant.id")
    reviewer_id: int = Field(foreign_key="reviewer.id")
    since_version: int
    verdict: Verdict = Field(sa_type=enum_column(Verdict))
    suggestion: str = Field(default="", sa_type=Text)
    certainty: float | None = None
    answer_id: int = Field(foreign_key="answer.id")


class OpinionLook(SQLModel, table=True):
    """A person has seen a variant's opinions, so their later decisions are not independent."""

    __tablename__ = "opinion_look"

    reviewer_id: int = Field(primary_key=True, foreign_key="reviewer.id")
    variant_id: int = Field(primary_key=True, foreign_key="variant.id")
    seen_at: datetime = time_stamp()


class Note(SQLModel, table=True):
    """A reviewer's remark on a variant, which is not a decision. Append-only."""

    __table_args__ = (Index(None, "variant_id", "id"), Index(None, "reviewer_id", "id"))

    id: int = Field(default=None, primary_key=True)
    variant_id: int = Field(foreign_key="variant.id")
    reviewer_id: int = Field(foreign_key="reviewer.id")
    text: str = Field(sa_type=Text)
    created_at: datetime = time_stamp()


class NoteRetraction(SQLModel, table=True):
    """A note that its writer has retracted. Only the history shows it."""

    __tablename__ = "note_retraction"

    note_id: int = Field(primary_key=True, foreign_key="note.id")
    retracted_at: datetime = time_stamp()


class CueCorrection(SQLModel, table=True):
    """A change of a variant's cue. The text, and so the uid, does not change.

    ``action_id`` is that of the decision made with it. An undo is another row that restores the
    cue. The variant's ``cue`` is the latest ``after``.
    """

    __tablename__ = "cue_correction"
    __table_args__ = (Index(None, "variant_id", "id"), Index(None, "action_id"))

    id: int = Field(default=None, primary_key=True)
    variant_id: int = Field(foreign_key="variant.id")
    reviewer_id: int = Field(foreign_key="reviewer.id")
    action_id: str = Field(max_length=36)
    before: str | None = Field(default=None, max_length=200)
    after: str | None = Field(default=None, max_length=200)
    created_at: datetime = time_stamp()


class MarkKind(StrEnum):
    """The effect of a row of ``discuss_mark``."""

    MARK = "mark"
    LIFT = "lift"
    UNDO = "undo"


class DiscussMark(SQLModel, table=True):
    """A mark that somebody wants to discuss a card, or the end of one. Append-only.

    A lift refers to the mark that it ends (``of_id``), and an undo to the mark or lift that it
    undoes. It is not a decision.
    """

    __tablename__ = "discuss_mark"
    __table_args__ = (
        Index(None, "variant_id", "id"),
        Index(None, "reviewer_id", "id"),
        index_where_set("discuss_mark", "of_id"),
    )

    id: int = Field(default=None, primary_key=True)
    variant_id: int = Field(foreign_key="variant.id")
    reviewer_id: int = Field(foreign_key="reviewer.id")
    kind: MarkKind = Field(sa_type=enum_column(MarkKind))
    of_id: int | None = Field(default=None, foreign_key="discuss_mark.id")
    remark: str = Field(default="", sa_type=Text)
    created_at: datetime = time_stamp()
