"""The taxonomy, anchors with their variants, and releases, which freeze accepted variants."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKeyConstraint, Index, Text, UniqueConstraint, select, text
from sqlmodel import Field, SQLModel, col

from db.columns import (
    EMPTY,
    FALSE,
    FROM_THE_START,
    NONE_YET,
    ZERO,
    JsonColumn,
    UtcDateTime,
    enum_column,
    time_stamp,
)


class Polarity(StrEnum):
    """Whether a variant contradicts its anchor, leaves its claim open, or makes the same claim."""

    NEGATIVE = "negative"
    NEUTRAL = "neutral"
    POSITIVE = "positive"


class TypeRow(SQLModel, table=True):
    """An entry of the taxonomy; its texts are stored in its versions."""

    __tablename__ = "variant_type"

    id: str = Field(primary_key=True, max_length=40)
    polarity: Polarity = Field(sa_type=enum_column(Polarity))
    group: str = Field(max_length=40)
    ordinal: int
    version: int = 1
    origin: str = Field(default="built-in", max_length=40)
    retired_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class TypeVersion(SQLModel, table=True):
    """One version of a variant type: definition, example, prompt line, check and guideline."""

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
    created_at: datetime = time_stamp()


class PromptVersion(SQLModel, table=True):
    """A versioned prompt file or a person's edited copy of one.

    ``examples``: the examples in the prompt, as ``curation.generation.examples.Example``.
    """

    __tablename__ = "prompt_version"
    __table_args__ = (UniqueConstraint("name", "version"),)

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=80)
    version: int
    template: str = Field(sa_type=Text)
    parent_id: int | None = Field(default=None, foreign_key="prompt_version.id")
    author_id: int | None = Field(default=None, foreign_key="reviewer.id")
    created_at: datetime = time_stamp()
    examples: list[dict[str, Any]] = Field(
        default_factory=list, sa_type=JsonColumn, sa_column_kwargs=NONE_YET
    )


class Split(StrEnum):
    """The part of a release that an anchor and all its variants belong to."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class Source(SQLModel, table=True):
    """The source of anchors: a data set or a file, with its licence."""

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=200, unique=True)
    licence: str = Field(default="", max_length=200)
    url: str = Field(default="", max_length=2000)
    note: str = Field(default="", sa_type=Text)
    content_hash: str = Field(default="", max_length=64)
    created_at: datetime = time_stamp()


class Anchor(SQLModel, table=True):
    """An affirmative sentence.

    Its text is stored in its revisions; ``revision`` is the current one. ``document_id`` and
    ``row_id`` are the ids of its document and of its row in the file that it came from, if the file
    had any. All anchors of a document of a source are in the same split.
    """

    __table_args__ = (
        Index(None, "source_id", "id"),
        Index(None, "split", "id"),
        Index(
            None,
            "source_id",
            "document_id",
            sqlite_where=text("document_id <> ''"),
            postgresql_where=text("document_id <> ''"),
        ),
    )

    id: int = Field(default=None, primary_key=True)
    uid: str = Field(max_length=32, unique=True)
    revision: int = 1
    source_id: int = Field(foreign_key="source.id")
    genre: str = Field(default="", max_length=80)
    language: str = Field(default="en", max_length=35)
    split: Split = Field(sa_type=enum_column(Split))
    document_id: str = Field(default="", max_length=200)
    row_id: str = Field(default="", max_length=200)
    retired_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = time_stamp()


class AnchorRevision(SQLModel, table=True):
    """One revision of an anchor. ``text_uid`` is the uid of this text, for finding duplicates."""

    __tablename__ = "anchor_revision"

    anchor_id: int = Field(primary_key=True, foreign_key="anchor.id")
    revision: int = Field(default=1, primary_key=True)
    text: str = Field(sa_type=Text)
    text_uid: str = Field(max_length=32, index=True)
    author_id: int | None = Field(default=None, foreign_key="reviewer.id")
    created_at: datetime = time_stamp()


class Status(StrEnum):
    """The status of a variant, derived from its decisions (see ``curation.decisions.status``)."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    CONFLICT = "conflict"
    SUPERSEDED = "superseded"


def _queue_index(order: str) -> Index:
    """The index for the queue of pending variants of a type and a source in one order.

    It is partial, so that a decision only removes its variant from the index.
    """
    return Index(
        f"ix_variant_queue_{order}",
        "type_id",
        "source_id",
        order,
        "id",
        sqlite_where=text("status = 'pending' AND retired IS 0"),
        postgresql_where=text("status = 'pending' AND retired IS false"),
    )


def _model_only_index(*order: str) -> Index:
    """The index for variants of a type and a source accepted by models only, in one order."""
    return Index(
        f"ix_variant_model_only_{order[0]}",
        "type_id",
        "source_id",
        *order,
        sqlite_where=text("model_only IS NOT 0 AND retired IS 0"),
        postgresql_where=text("model_only IS true AND retired IS false"),
    )


def _begun_index(order: str) -> Index:
    """The index for begun variants, which need verdicts of more people, in one order.

    It is empty without an assignment. See ``curation.decisions.assignment``.
    """
    return Index(
        f"ix_variant_begun_{order}",
        *dict.fromkeys(["verdicts_by", "type_id", "source_id", order, "id"]),
        sqlite_where=text("verdicts_by != '' AND retired IS 0"),
        postgresql_where=text("verdicts_by != '' AND retired IS false"),
    )


_SECOND_LOOKS = Index(
    "ix_variant_second_look",
    "type_id",
    "id",
    sqlite_where=text("second_look IS NOT 0"),
    postgresql_where=text("second_look IS true"),
)


_ORDERS = ("id", "suspicion", "hardness", "random_key", "doubt")


def _source_of_anchor(context: Any) -> int:
    """The source of a new variant's anchor, unless the writer sets it."""
    anchor_id = context.get_current_parameters()["anchor_id"]
    query = select(col(Anchor.source_id)).where(col(Anchor.id) == anchor_id)
    return int(context.connection.execute(query).scalar_one())


class Variant(SQLModel, table=True):
    """One sentence of one type for one anchor, with its provenance.

    Derived columns for the queues are ``status``, ``retired``, ``second_look``, ``model_only``,
    ``verdicts_by``, ``hardness``, ``suspicion``, ``doubt`` and ``source_id`` (the anchor's source,
    which never changes). ``version`` grows by one with every change of its decisions.
    ``model_only``: it is accepted without a current verdict of a person. ``verdicts_by``: the ids
    of the people who have decided on it, as ',3,7,', while the assignment needs more people; else
    ''. ``hardness`` is 0 until the cosine is known, and ``doubt`` is 0 until a model has given an
    opinion. ``random_key`` is in [0, 1).

    ``anchor_revision`` is the anchor revision it was made for, but it is always shown, measured and
    released with the anchor's current text. After a correction of the anchor, only decisions from
    ``since_version`` on count, and ``second_look`` is true while it is pending for that reason.
    """

    __table_args__ = (
        ForeignKeyConstraint(
            ["anchor_id", "anchor_revision"],
            ["anchor_revision.anchor_id", "anchor_revision.revision"],
        ),
        Index("ix_variant_status", "status", "retired", "type_id", "source_id", "id"),
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
        *(_begun_index(order) for order in _ORDERS),
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
    created_at: datetime = time_stamp()
    version: int = 1
    since_version: int = Field(default=1, sa_column_kwargs=FROM_THE_START)
    status: Status = Field(default=Status.PENDING, sa_type=enum_column(Status))
    retired: bool = False
    second_look: bool = Field(default=False, sa_column_kwargs=FALSE)
    model_only: bool = Field(default=False, sa_column_kwargs=FALSE)
    verdicts_by: str = Field(default="", max_length=80, sa_column_kwargs=EMPTY)
    hardness: float = 0.0
    suspicion: float = 0.0
    random_key: float = 0.0
    doubt: float = Field(default=0.0, sa_column_kwargs=ZERO)
    source_id: int = Field(default=None, sa_column_kwargs={"default": _source_of_anchor} | ZERO)


class Diagnostic(SQLModel, table=True):
    """A variant's measurements without an encoder (see ``curation.diagnostics.measures``)."""

    variant_id: int = Field(primary_key=True, foreign_key="variant.id")
    levenshtein: int
    length_ratio: float
    content_kept: float
    flags: int
    check_version: int = 1
    created_at: datetime = time_stamp()


class Release(SQLModel, table=True):
    """A frozen, numbered, content-hashed set of accepted variants."""

    id: int = Field(default=None, primary_key=True)
    number: int = Field(unique=True)
    name: str = Field(default="", max_length=200)
    content_hash: str = Field(max_length=64)
    taxonomy: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
    summary: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
    author_id: int | None = Field(default=None, foreign_key="reviewer.id")
    created_at: datetime = time_stamp()


class ReleaseItem(SQLModel, table=True):
    """One accepted variant at the time of the release, with its provenance."""

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
    document_id: str = Field(default="", max_length=200)
    row_id: str = Field(default="", max_length=200)
    provenance: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
