"""Variant types and prompts, with their versions."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from db.columns import JsonColumn, UtcDateTime, enum_column
from db.models.conventions import NONE_YET, time_stamp


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
