"""Runs, their metrics, and calls to language models with their answers."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKeyConstraint, Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from db.columns import JsonColumn, UtcDateTime, enum_column
from db.models.conventions import FALSE, time_stamp


class RunState(StrEnum):
    """The state of a run. ``interrupted`` is derived from the heartbeat when it is read."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    PAUSED = "paused"


class CallState(StrEnum):
    """The state of a call to a language model."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"


class Run(SQLModel, table=True):
    """A long-running job: its request, requester, progress and result."""

    __table_args__ = (Index(None, "kind", "id"), Index(None, "state"))

    id: int = Field(default=None, primary_key=True)
    kind: str = Field(max_length=40)
    group: str = Field(default="", max_length=80)
    parameters: dict[str, Any] = Field(sa_type=JsonColumn)
    inputs: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
    versions: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
    result: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
    state: RunState = Field(default=RunState.QUEUED, sa_type=enum_column(RunState))
    step: int = 0
    total: int = 0
    message: str = Field(default="", sa_type=Text)
    cancel_requested: bool = False
    pause_requested: bool = Field(default=False, sa_column_kwargs=FALSE)
    attempt: int = 0
    host: str = Field(default="", max_length=255)
    pid: int | None = None
    folder: str = Field(default="", max_length=500)
    requested_by: int | None = Field(default=None, foreign_key="reviewer.id")
    created_at: datetime = time_stamp()
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    heartbeat_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    lease_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class RunMetric(SQLModel, table=True):
    """One metric of a run at one step, such as the loss."""

    __tablename__ = "run_metric"

    run_id: int = Field(primary_key=True, foreign_key="run.id")
    name: str = Field(primary_key=True, max_length=80)
    step: int = Field(primary_key=True)
    value: float


class ModelCall(SQLModel, table=True):
    """A run's call to a language model, about one anchor or one variant.

    All calls of a run are stored before the first one is made, so that an interrupted run knows
    which ones are left. ``key`` identifies the call within the run, for other hosts and for the
    provider's batches: a content uid and the role of the prompt.
    """

    __tablename__ = "model_call"
    __table_args__ = (
        ForeignKeyConstraint(
            ["anchor_id", "anchor_revision"],
            ["anchor_revision.anchor_id", "anchor_revision.revision"],
        ),
        UniqueConstraint("run_id", "key"),
        Index(None, "run_id", "state", "id"),
        Index(None, "anchor_id"),
    )

    id: int = Field(default=None, primary_key=True)
    run_id: int = Field(foreign_key="run.id")
    key: str = Field(max_length=80)
    role: str = Field(max_length=40)
    anchor_id: int
    anchor_revision: int
    prompt_version_id: int = Field(foreign_key="prompt_version.id")
    type_ids: list[str] = Field(default_factory=list, sa_type=JsonColumn)
    cues: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
    state: CallState = Field(default=CallState.OPEN, sa_type=enum_column(CallState))
    attempts: int = 0
    problem: str = Field(default="", max_length=40)
    batch: str = Field(default="", max_length=200)


class Answer(SQLModel, table=True):
    """A language model's raw answer to one call, with its cost. One row per attempt.

    ``is_estimate``: the server reported no usable token counts, so tokens and cost were estimated
    from the texts.
    """

    __table_args__ = (
        ForeignKeyConstraint(
            ["anchor_id", "anchor_revision"],
            ["anchor_revision.anchor_id", "anchor_revision.revision"],
        ),
        Index(None, "run_id", "anchor_id"),
        Index(None, "anchor_id"),
        Index(None, "call_id"),
    )

    id: int = Field(default=None, primary_key=True)
    run_id: int = Field(foreign_key="run.id")
    call_id: int | None = Field(default=None, foreign_key="model_call.id")
    anchor_id: int
    anchor_revision: int
    prompt_version_id: int = Field(foreign_key="prompt_version.id")
    cues: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
    attempt: int = 1
    raw: str = Field(default="", sa_type=Text)
    finish_reason: str = Field(default="", max_length=80)
    error: str = Field(default="", sa_type=Text)
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    is_estimate: bool = Field(default=False, sa_column_kwargs=FALSE)
    seconds: float | None = None
    created_at: datetime = time_stamp()
