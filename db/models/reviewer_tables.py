"""Reviewers, their quotas, and the project's settings."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, text
from sqlmodel import Field, SQLModel

from db.columns import JsonColumn, enum_column
from db.models.conventions import time_stamp


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
