"""Releases: frozen sets of accepted variants."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, Text
from sqlmodel import Field, SQLModel

from db.columns import JsonColumn, enum_column
from db.models.anchor_tables import Split
from db.models.conventions import time_stamp
from db.models.taxonomy_tables import Polarity


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
