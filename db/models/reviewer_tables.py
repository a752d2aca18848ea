"""Who decides, and the project's settings."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, text
from sqlmodel import Field, SQLModel

from db.columns import JsonColumn, enum_column
from db.models.conventions import time_stamp


class Setting(SQLModel, table=True):
    """A setting of the project (not of a person or a machine): a name and a JSON value."""

    key: str = Field(primary_key=True, max_length=80)
    value: Any = Field(default=None, sa_column=Column(JsonColumn, nullable=True))


class Quota(SQLModel, table=True):
    """How many variants of a type a person is to decide on; ``type_id`` '' for all types together.

    Kept for each reviewer as they are named; a merged person's own wait until they are separated.
    """

    reviewer_id: int = Field(primary_key=True, foreign_key="reviewer.id")
    type_id: str = Field(primary_key=True, max_length=40)
    variants: int


class ReviewerKind(StrEnum):
    """Who decides."""

    PERSON = "person"
    MODEL = "model"


class TeamRole(StrEnum):
    """What a person may change. Each may do what those after it may."""

    LEAD = "lead"
    REVIEWER = "reviewer"
    VIEWER = "viewer"


class Reviewer(SQLModel, table=True):
    """A person or a model that decides. ``counts`` switches a model's verdicts on or off.

    ``key`` is what all spellings of the name share; NULL where an older reviewer has it. A person
    with ``merged_into_id`` is that person: there is no chain of such. ``identity`` is the issuer
    and the subject that a person signs in with; NULL for those who gave only a name. ``role`` means
    nothing for a model.
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
