"""Encoders and their measurements: cosines, probes and benchmarks."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from db.columns import JsonColumn
from db.models.conventions import time_stamp


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
