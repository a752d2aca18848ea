"""Reviewers, their decisions on variants, and what else their windows store."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, Index, Text, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from db.columns import FALSE, JsonColumn, UtcDateTime, enum_column, index_where_set, time_stamp


class Setting(SQLModel, table=True):
    """A setting of the project, not of a person or machine: a name and a JSON value."""

    key: str = Field(primary_key=True, max_length=80)
    value: Any = Field(default=None, sa_column=Column(JsonColumn, nullable=True))


class Quota(SQLModel, table=True):
    """How many variants of a type a person should decide on; ``type_id`` is '' for all types.

    The quota of a merged person has no effect until they are separated.
    """

    reviewer_id: int = Field(primary_key=True, foreign_key="reviewer.id")
    type_id: str = Field(primary_key=True, max_length=40)
    variants: int


class ReviewerKind(StrEnum):
    """The kind of a reviewer."""

    PERSON = "person"
    MODEL = "model"


class TeamRole(StrEnum):
    """What a person may change. Each role includes the rights of the roles after it."""

    LEAD = "lead"
    REVIEWER = "reviewer"
    VIEWER = "viewer"


class Reviewer(SQLModel, table=True):
    """A person or a model that decides. ``counts`` switches a model's verdicts on or off.

    ``key`` is equal for all spellings of the name; NULL if an older reviewer has the same key.
    ``merged_into_id`` is the person that this one was merged into; there are no chains of merges.
    ``identity`` is the issuer and subject of a person who signs in; NULL for names only. ``role``
    has no meaning for a model.
    """

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=80, unique=True)
    kind: ReviewerKind = Field(sa_type=enum_column(ReviewerKind))
    counts: bool = True
    created_at: datetime = time_stamp()
    key: str | None = Field(default=None, max_length=240, unique=True, index=True)
    merged_into_id: int | None = Field(default=None, foreign_key="reviewer.id", index=True)
    role: TeamRole = Field(
        default=TeamRole.LEAD,
        sa_type=enum_column(TeamRole),
        sa_column_kwargs={"server_default": text("'lead'")},
    )
    identity: str | None = Field(default=None, max_length=400, unique=True, index=True)


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
