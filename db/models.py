"""The tables. What each row means is fixed in the vocabulary of docs/data_model.md.

Decisions, opinions, notes and what takes them back, cue corrections and release items are
append-only: triggers made by the migrations refuse to change or delete them. Texts are stored once;
kept (derived) columns are named as such.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, ForeignKeyConstraint, Index, Text, UniqueConstraint, false, text
from sqlmodel import Field, SQLModel

from db.columns import JsonColumn, UtcDateTime, enum_column, now

# Named constraints, so that later migrations can change them on every database.
SQLModel.metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Polarity(StrEnum):
    """Whether a variant contradicts its anchor or says the same proposition."""

    NEGATIVE = "negative"
    POSITIVE = "positive"


class ReviewerKind(StrEnum):
    """Who decides."""

    PERSON = "person"
    MODEL = "model"


class Verdict(StrEnum):
    """What a decision says. A retyped variant is an edit whose child has another type."""

    ACCEPT = "accept"
    REJECT = "reject"
    EDIT = "edit"
    RETRACT = "retract"


class Status(StrEnum):
    """What the decisions on a variant add up to (see ``curation.review.status``)."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    CONFLICT = "conflict"
    SUPERSEDED = "superseded"


class Split(StrEnum):
    """The part of a release that an anchor and all its variants belong to."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class RunState(StrEnum):
    """How far a run has come. ``interrupted`` is derived from the heartbeat when it is read."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    PAUSED = "paused"


class CallState(StrEnum):
    """How far a call to a language model has come."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"


def _queue_index(order: str) -> Index:
    """Serves the queue of pending variants of a type in one order.

    Partial: a decision only takes its variant out, and does not put it in elsewhere.
    """
    return Index(
        f"ix_variant_queue_{order}",
        "type_id",
        order,
        "id",
        sqlite_where=text("status = 'pending' AND retired IS 0"),
        postgresql_where=text("status = 'pending' AND retired IS false"),
    )


def _model_only_index(*order: str) -> Index:
    """Serves the queue of what only models have accepted of a type, in one order."""
    return Index(
        f"ix_variant_model_only_{order[0]}",
        "type_id",
        *order,
        sqlite_where=text("model_only IS NOT 0 AND retired IS 0"),
        postgresql_where=text("model_only IS true AND retired IS false"),
    )


def _index_where_set(table: str, column: str) -> Index:
    """An index of a column that is empty in most rows, over the others."""
    where = text(f"{column} IS NOT NULL")
    return Index(f"ix_{table}_{column}", column, sqlite_where=where, postgresql_where=where)


_SECOND_LOOKS = Index(
    "ix_variant_second_look",
    "type_id",
    "id",
    sqlite_where=text("second_look IS NOT 0"),
    postgresql_where=text("second_look IS true"),
)


# What rows got that were there before the column.
_FROM_THE_START = {"server_default": text("1")}
_FALSE = {"server_default": false()}
_ZERO = {"server_default": text("0")}


def _created_at() -> Any:
    return Field(default_factory=now, sa_type=UtcDateTime)


class Setting(SQLModel, table=True):
    """A setting of the project (not of a person or a machine): a name and a JSON value."""

    key: str = Field(primary_key=True, max_length=80)
    value: Any = Field(default=None, sa_column=Column(JsonColumn, nullable=True))


class Reviewer(SQLModel, table=True):
    """A person or a model that decides. ``counts`` switches a model's verdicts on or off.

    ``key`` is what all spellings of the name share; NULL where an older reviewer has it. A person
    with ``merged_into_id`` is that person: there is no chain of such.
    """

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=80, unique=True)
    kind: ReviewerKind = Field(sa_type=enum_column(ReviewerKind))
    counts: bool = True
    created_at: datetime = _created_at()
    key: str | None = Field(default=None, max_length=240, unique=True, index=True)
    merged_into_id: int | None = Field(default=None, foreign_key="reviewer.id", index=True)


class Source(SQLModel, table=True):
    """Where anchors came from: a data set or a file, and under what licence."""

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=200, unique=True)
    licence: str = Field(default="", max_length=200)
    url: str = Field(default="", max_length=2000)
    note: str = Field(default="", sa_type=Text)
    content_hash: str = Field(default="", max_length=64)
    created_at: datetime = _created_at()


class Anchor(SQLModel, table=True):
    """An affirmative sentence. Its text lies in its revisions; ``revision`` is the current one."""

    __table_args__ = (Index(None, "source_id", "id"), Index(None, "split", "id"))

    id: int = Field(default=None, primary_key=True)
    uid: str = Field(max_length=32, unique=True)
    revision: int = 1
    source_id: int = Field(foreign_key="source.id")
    genre: str = Field(default="", max_length=80)
    language: str = Field(default="en", max_length=35)
    split: Split = Field(sa_type=enum_column(Split))
    retired_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = _created_at()


class AnchorRevision(SQLModel, table=True):
    """One wording of an anchor. ``text_uid`` is the uid of this wording, for finding duplicates."""

    __tablename__ = "anchor_revision"

    anchor_id: int = Field(primary_key=True, foreign_key="anchor.id")
    revision: int = Field(default=1, primary_key=True)
    text: str = Field(sa_type=Text)
    text_uid: str = Field(max_length=32, index=True)
    author_id: int | None = Field(default=None, foreign_key="reviewer.id")
    created_at: datetime = _created_at()


class TypeRow(SQLModel, table=True):
    """An entry of the taxonomy; its wording lies in its versions."""

    __tablename__ = "variant_type"

    id: str = Field(primary_key=True, max_length=40)
    polarity: Polarity = Field(sa_type=enum_column(Polarity))
    group: str = Field(max_length=40)
    ordinal: int
    version: int = 1
    origin: str = Field(default="built-in", max_length=40)
    retired_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class TypeVersion(SQLModel, table=True):
    """One wording of a variant type: definition, example, prompt line, check and guideline."""

    __tablename__ = "variant_type_version"

    type_id: str = Field(primary_key=True, foreign_key="variant_type.id", max_length=40)
    version: int = Field(primary_key=True)
    label: str = Field(max_length=80)
    definition: str = Field(sa_type=Text)
    example_anchor: str = Field(sa_type=Text)
    example: str = Field(sa_type=Text)
    prompt_line: str = Field(sa_type=Text)
    surface_check: dict[str, Any] = Field(sa_type=JsonColumn)
    guideline: str = Field(default="", sa_type=Text)
    created_at: datetime = _created_at()


class PromptVersion(SQLModel, table=True):
    """A versioned prompt file or a person's edited copy of one."""

    __tablename__ = "prompt_version"
    __table_args__ = (UniqueConstraint("name", "version"),)

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=80)
    version: int
    template: str = Field(sa_type=Text)
    parent_id: int | None = Field(default=None, foreign_key="prompt_version.id")
    author_id: int | None = Field(default=None, foreign_key="reviewer.id")
    created_at: datetime = _created_at()


class Run(SQLModel, table=True):
    """A piece of long work: what was asked, by whom, how far it is, and what came out."""

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
    pause_requested: bool = Field(default=False, sa_column_kwargs=_FALSE)
    attempt: int = 0
    host: str = Field(default="", max_length=255)
    pid: int | None = None
    folder: str = Field(default="", max_length=500)
    requested_by: int | None = Field(default=None, foreign_key="reviewer.id")
    created_at: datetime = _created_at()
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    heartbeat_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    lease_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class RunMetric(SQLModel, table=True):
    """One measured figure of a run at one step, such as the loss."""

    __tablename__ = "run_metric"

    run_id: int = Field(primary_key=True, foreign_key="run.id")
    name: str = Field(primary_key=True, max_length=80)
    step: int = Field(primary_key=True)
    value: float


class ModelCall(SQLModel, table=True):
    """What a run asks a language model for: about one anchor, or about one variant.

    All calls of a run are stored before the first is made, so that a run which was broken off
    knows what is left. ``key`` says within its run what it is about, in words that another host
    and the provider's batches understand: a content uid and the role of the prompt.
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
    """A language model's raw answer to one call, with what it cost; one row an attempt.

    ``is_estimate`` says that the server reported no usable token counts, so that tokens and cost
    were counted from the texts.
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
    is_estimate: bool = Field(default=False, sa_column_kwargs=_FALSE)
    seconds: float | None = None
    created_at: datetime = _created_at()


class Variant(SQLModel, table=True):
    """One sentence of one type for one anchor, and where it came from.

    ``status``, ``retired``, ``second_look``, ``model_only``, ``hardness``, ``suspicion`` and
    ``doubt`` are kept for the queues; ``version`` grows by one with every change of its decisions.
    ``model_only`` is true while it is accepted and no person's verdict stands on it. ``hardness``
    is 0 until the cosine is known, ``doubt`` until a model has given its opinion; ``random_key`` is
    in [0, 1).

    ``anchor_revision`` says which wording of the anchor it was made for; it is always shown,
    measured and released beside the anchor's current wording. When the anchor is corrected,
    ``since_version`` becomes the version from which on decisions count again, and ``second_look``
    is true while it is pending for that reason alone.
    """

    __table_args__ = (
        ForeignKeyConstraint(
            ["anchor_id", "anchor_revision"],
            ["anchor_revision.anchor_id", "anchor_revision.revision"],
        ),
        Index("ix_variant_status", "status", "retired", "type_id", "id"),
        _queue_index("suspicion"),
        _queue_index("hardness"),
        _queue_index("random_key"),
        _queue_index("doubt"),
        _model_only_index("id"),
        _model_only_index("suspicion", "id"),
        _model_only_index("hardness", "id"),
        _model_only_index("random_key", "id"),
        _model_only_index("doubt", "id"),
        _SECOND_LOOKS,
        Index(None, "anchor_id", "type_id"),
        Index(None, "parent_id"),
        Index(None, "run_id"),
    )

    id: int = Field(default=None, primary_key=True)
    uid: str = Field(max_length=32, unique=True)
    anchor_id: int
    anchor_revision: int = 1
    type_id: str = Field(foreign_key="variant_type.id", max_length=40)
    text: str = Field(sa_type=Text)
    cue: str | None = Field(default=None, max_length=200)
    run_id: int | None = Field(default=None, foreign_key="run.id")
    answer_id: int | None = Field(default=None, foreign_key="answer.id")
    prompt_version_id: int | None = Field(default=None, foreign_key="prompt_version.id")
    provider: str = Field(default="", max_length=80)
    model: str = Field(default="", max_length=200)
    parent_id: int | None = Field(default=None, foreign_key="variant.id")
    author_id: int | None = Field(default=None, foreign_key="reviewer.id")
    created_at: datetime = _created_at()
    version: int = 1
    since_version: int = Field(default=1, sa_column_kwargs=_FROM_THE_START)
    status: Status = Field(default=Status.PENDING, sa_type=enum_column(Status))
    retired: bool = False
    second_look: bool = Field(default=False, sa_column_kwargs=_FALSE)
    model_only: bool = Field(default=False, sa_column_kwargs=_FALSE)
    hardness: float = 0.0
    suspicion: float = 0.0
    random_key: float = 0.0
    doubt: float = Field(default=0.0, sa_column_kwargs=_ZERO)


class Decision(SQLModel, table=True):
    """One reviewer's verdict on one variant, never changed afterwards.

    ``action_id`` ties together what one key press or one bulk action did. An edit names the
    variant it made (``child_id``), a retract the decision it takes back (``retracts_id``).
    ``blind``: diagnostics and other people's verdicts were hidden from the reviewer.
    """

    __table_args__ = (
        UniqueConstraint("action_id", "variant_id"),
        Index(None, "variant_id", "id"),
        _index_where_set("decision", "child_id"),
        _index_where_set("decision", "retracts_id"),
        Index(None, "reviewer_id", "id"),
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
    blind: bool = Field(default=False, sa_column_kwargs=_FALSE)
    guideline_version: int = 1
    shown_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    decided_at: datetime = _created_at()


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
    seen_at: datetime = _created_at()


class Note(SQLModel, table=True):
    """A reviewer's remark on a variant that decides nothing; never changed afterwards."""

    __table_args__ = (Index(None, "variant_id", "id"), Index(None, "reviewer_id", "id"))

    id: int = Field(default=None, primary_key=True)
    variant_id: int = Field(foreign_key="variant.id")
    reviewer_id: int = Field(foreign_key="reviewer.id")
    text: str = Field(sa_type=Text)
    created_at: datetime = _created_at()


class NoteRetraction(SQLModel, table=True):
    """A note that its writer has taken back: it counts no longer, and only the history shows it."""

    __tablename__ = "note_retraction"

    note_id: int = Field(primary_key=True, foreign_key="note.id")
    retracted_at: datetime = _created_at()


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
    created_at: datetime = _created_at()


class Encoder(SQLModel, table=True):
    """A text encoder, ours or another's, known by the hash of its weights.

    ``path`` is relative to the data folder and set for encoders that a run trained.
    """

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=300)
    fingerprint: str = Field(max_length=64, unique=True)
    path: str = Field(default="", max_length=500)
    base_id: int | None = Field(default=None, foreign_key="encoder.id")
    run_id: int | None = Field(default=None, foreign_key="run.id")
    release_id: int | None = Field(default=None, foreign_key="release.id")
    created_at: datetime = _created_at()


class Diagnostic(SQLModel, table=True):
    """What is measured on a variant without an encoder (see ``curation.diagnostics.measures``)."""

    variant_id: int = Field(primary_key=True, foreign_key="variant.id")
    levenshtein: int
    length_ratio: float
    content_kept: float
    flags: int
    check_version: int = 1
    created_at: datetime = _created_at()


class VariantCosine(SQLModel, table=True):
    """Cosine similarity in [-1, 1] of a variant and its anchor under one encoder."""

    __tablename__ = "variant_cosine"

    encoder_id: int = Field(primary_key=True, foreign_key="encoder.id")
    variant_id: int = Field(primary_key=True, foreign_key="variant.id", index=True)
    cosine: float


class Release(SQLModel, table=True):
    """A frozen, numbered, content-hashed set of accepted variants."""

    id: int = Field(default=None, primary_key=True)
    number: int = Field(unique=True)
    name: str = Field(default="", max_length=200)
    content_hash: str = Field(max_length=64)
    taxonomy: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
    summary: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
    note: str = Field(default="", sa_type=Text)
    author_id: int | None = Field(default=None, foreign_key="reviewer.id")
    created_at: datetime = _created_at()


class ReleaseItem(SQLModel, table=True):
    """One accepted variant as it was when the release was made, with its provenance."""

    __tablename__ = "release_item"
    __table_args__ = (Index(None, "release_id", "split"), Index(None, "variant_uid"))

    id: int = Field(default=None, primary_key=True)
    release_id: int = Field(foreign_key="release.id")
    anchor_uid: str = Field(max_length=32)
    variant_uid: str = Field(max_length=32)
    anchor: str = Field(sa_type=Text)
    text: str = Field(sa_type=Text)
    type_id: str = Field(max_length=40)
    polarity: Polarity = Field(sa_type=enum_column(Polarity))
    cue: str | None = Field(default=None, max_length=200)
    split: Split = Field(sa_type=enum_column(Split))
    genre: str = Field(default="", max_length=80)
    language: str = Field(default="en", max_length=35)
    source: str = Field(default="", max_length=200)
    licence: str = Field(default="", max_length=200)
    provenance: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)


class ProbeSet(SQLModel, table=True):
    """A named set of sentence pairs whose similarity is shown before and after."""

    __tablename__ = "probe_set"

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=200, unique=True)
    author_id: int | None = Field(default=None, foreign_key="reviewer.id")
    created_at: datetime = _created_at()


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
    """What one model came to in one benchmark, or in one task of mteb.

    What it depends on: ``model_hash`` is the fingerprint of the model's files ('' for TF-IDF,
    random scores and chat models), ``data_hash`` that of the items (for mteb, its revision of the
    data), the versions are those of the run. Results are comparable where ``benchmark`` and
    ``data_hash`` are the same.

    ``model`` is the name that was chosen, ``data`` says for people where the items came from.
    ``kind`` is 'negation' or 'general', ``score`` in points. ``file`` (relative to the data folder)
    has a row an item; '' for mteb's tasks. ``summary`` is all that is known beside the rows.
    """

    __tablename__ = "benchmark_result"
    __table_args__ = (
        UniqueConstraint(
            "run_id",
            "model",
            "architecture",
            "benchmark",
            "data_hash",
            name="uq_benchmark_result_measured",
        ),
        Index(None, "model", "architecture", "benchmark", "data_hash", "id"),
    )

    id: int = Field(default=None, primary_key=True)
    run_id: int = Field(foreign_key="run.id")
    kind: str = Field(max_length=20)
    benchmark: str = Field(max_length=120)
    model: str = Field(max_length=300)
    model_hash: str = Field(default="", max_length=64)
    architecture: str = Field(max_length=40)
    data: str = Field(default="", max_length=300)
    data_hash: str = Field(default="", max_length=64)
    metric: str = Field(max_length=80)
    score: float
    n: int = 0
    ties: int = 0
    unanswered: int = 0
    summary: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
    file: str = Field(default="", max_length=500)
    created_at: datetime = _created_at()
