"""Anchors with their revisions, and their sources."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Index, Text, text
from sqlmodel import Field, SQLModel

from db.columns import UtcDateTime, enum_column
from db.models.conventions import time_stamp


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
