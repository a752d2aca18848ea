"""Variants, and their measurements without an encoder."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKeyConstraint, Index, Text, select, text
from sqlmodel import Field, SQLModel, col

from db.columns import enum_column
from db.models.anchor_tables import Anchor
from db.models.conventions import EMPTY, FALSE, FROM_THE_START, ZERO, time_stamp


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
