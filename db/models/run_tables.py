"""Runs, calls to language models, and encoders with their measurements."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKeyConstraint, Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from db.columns import FALSE, JsonColumn, UtcDateTime, enum_column, time_stamp


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


class Encoder(SQLModel, table=True):
    """A text encoder, identified by the hash of its weights.

    ``path`` is relative to the data folder, and set for encoders trained by a run.
    """

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=300)
    fingerprint: str = Field(max_length=64, unique=True)
    path: str = Field(default="", max_length=500)
    base_id: int | None = Field(default=None, foreign_key="encoder.id")
    run_id: int | None = Field(default=None, foreign_key="run.id")
    release_id: int | None = Field(default=None, foreign_key="release.id")
    created_at: datetime = time_stamp()


class VariantCosine(SQLModel, table=True):
    """Cosine similarity in [-1, 1] of a variant and its anchor under one encoder."""

    __tablename__ = "variant_cosine"

    encoder_id: int = Field(primary_key=True, foreign_key="encoder.id")
    variant_id: int = Field(primary_key=True, foreign_key="variant.id", index=True)
    cosine: float


class ProbeSet(SQLModel, table=True):
    """A named set of sentence pairs whose similarity is shown before and after training."""

    __tablename__ = "probe_set"

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=200, unique=True)
    author_id: int | None = Field(default=None, foreign_key="reviewer.id")
    created_at: datetime = time_stamp()


class Probe(SQLModel, table=True):
    """One sentence pair of a probe set."""

    __table_args__ = (UniqueConstraint("set_id", "ordinal"),)

    id: int = Field(default=None, primary_key=True)
    set_id: int = Field(foreign_key="probe_set.id")
    ordinal: int
    anchor: str = Field(sa_type=Text)
    text: str = Field(sa_type=Text)
    label: str = Field(default="", max_length=80)


class ProbeCosine(SQLModel, table=True):
    """Cosine similarity in [-1, 1] of a probe's two sentences under one encoder."""

    __tablename__ = "probe_cosine"

    encoder_id: int = Field(primary_key=True, foreign_key="encoder.id")
    probe_id: int = Field(primary_key=True, foreign_key="probe.id")
    cosine: float


class BenchmarkResult(SQLModel, table=True):
    """The result of one model in one benchmark, or in one task of mteb.

    It depends on the model's files (``model_hash``; '' for TF-IDF, random scores and chat models),
    on the items (``data_hash``; for mteb, the revision of the data), and on the run's package
    versions. Results are comparable if ``benchmark`` and ``data_hash`` are equal.

    ``scoring`` names deviations from the default scoring, which is '': a bi-encoder's similarity
    other than the cosine ('dot'), 'both orders' of a chat model, and a digest of custom prompts
    ('prompts 1a2b3c4d'; the summary has the full prompts).

    ``model`` is the chosen name, and ``data`` describes the source of the items for people.
    ``kind`` is 'negation' or 'general', and ``score`` is in points. ``file`` (relative to the data
    folder) has one row per item; '' for mteb's tasks. ``summary`` has everything but the rows.
    """

    __tablename__ = "benchmark_result"
    __table_args__ = (
        UniqueConstraint(
            "run_id",
            "model",
            "architecture",
            "scoring",
            "benchmark",
            "data_hash",
            name="uq_benchmark_result_measured",
        ),
        Index(
            "ix_benchmark_result_newest",
            "model",
            "architecture",
            "scoring",
            "benchmark",
            "data_hash",
            "id",
        ),
    )

    id: int = Field(default=None, primary_key=True)
    run_id: int = Field(foreign_key="run.id")
    kind: str = Field(max_length=20)
    benchmark: str = Field(max_length=120)
    model: str = Field(max_length=300)
    model_hash: str = Field(default="", max_length=64)
    architecture: str = Field(max_length=40)
    scoring: str = Field(default="", max_length=40)
    data: str = Field(default="", max_length=300)
    data_hash: str = Field(default="", max_length=64)
    metric: str = Field(max_length=80)
    score: float
    n: int = 0
    ties: int = 0
    unanswered: int = 0
    summary: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
    file: str = Field(default="", max_length=500)
    created_at: datetime = time_stamp()
