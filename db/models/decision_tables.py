"""What reviewers say about variants, and which variants they have on their screens."""

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
    """One reviewer's verdict on one variant, never changed afterwards.

    ``action_id`` ties together what one key press or one bulk action did. An edit names the
    variant it made (``child_id``), a retract the decision it takes back (``retracts_id``).
    ``blind``: diagnostics and other people's verdicts were hidden from the reviewer.
    """

    __table_args__ = (
        UniqueConstraint("action_id", "variant_id"),
        Index(None, "variant_id", "id"),
        index_where_set("decision", "child_id"),
        index_where_set("decision", "retracts_id"),
        Index(None, "reviewer_id", "id"),
        # Written out as queries ask for them: settlements are few among the decisions.
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
    """A variant whose card is on a screen, until the database's clock says otherwise.

    ``window`` is one of a reviewer's browser windows. See ``curation.review.leases``.
    """

    variant_id: int = Field(primary_key=True, foreign_key="variant.id")
    reviewer_id: int = Field(foreign_key="reviewer.id")
    window: str = Field(max_length=400)
    until: datetime = Field(sa_type=UtcDateTime)


class Opinion(SQLModel, table=True):
    """What a chat model that was asked for a second opinion said beyond its decision.

    ``verdict`` may be an edit: its decision is then a rejection, and ``suggestion`` the wording
    that a person may take over. ``since_version`` is the variant's when it was judged: there is
    one opinion of a reviewer on a variant for each wording of its anchor. ``certainty`` lies in
    [0, 1]; NULL where the model named none.
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
    """A person has had a variant's opinions shown; what they decide afterwards knows of them."""

    __tablename__ = "opinion_look"

    reviewer_id: int = Field(primary_key=True, foreign_key="reviewer.id")
    variant_id: int = Field(primary_key=True, foreign_key="variant.id")
    seen_at: datetime = time_stamp()


class Note(SQLModel, table=True):
    """A reviewer's remark on a variant that decides nothing; never changed afterwards."""

    __table_args__ = (Index(None, "variant_id", "id"), Index(None, "reviewer_id", "id"))

    id: int = Field(default=None, primary_key=True)
    variant_id: int = Field(foreign_key="variant.id")
    reviewer_id: int = Field(foreign_key="reviewer.id")
    text: str = Field(sa_type=Text)
    created_at: datetime = time_stamp()


class NoteRetraction(SQLModel, table=True):
    """A note that its writer has retracted; only the history shows it."""

    __tablename__ = "note_retraction"

    note_id: int = Field(primary_key=True, foreign_key="note.id")
    retracted_at: datetime = time_stamp()


class CueCorrection(SQLModel, table=True):
    """A change of the cue alone; the text stays, so the variant stays the same one.

    ``action_id`` is that of the decision that came with it. An undo is another row that puts the
    cue back. The variant's kept ``cue`` is the latest ``after``.
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
    """What a row of ``discuss_mark`` does."""

    MARK = "mark"
    LIFT = "lift"
    UNDO = "undo"


class DiscussMark(SQLModel, table=True):
    """A card that somebody wants to talk about, or what ended that; never changed afterwards.

    A lift names the mark that it ends (``of_id``), an undo the mark or the lift that its reviewer
    takes back. It decides nothing.
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
