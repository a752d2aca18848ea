"""Conventions of all tables: names of constraints, and common columns and indexes."""

from typing import Any

from sqlalchemy import Index, false, text
from sqlmodel import Field, SQLModel

from db.columns import UtcDateTime, now

# Named constraints, so that later migrations can change them on every database.
SQLModel.metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

# Values for rows that are older than the column.
FROM_THE_START = {"server_default": text("1")}
FALSE = {"server_default": false()}
ZERO = {"server_default": text("0")}
EMPTY = {"server_default": text("''")}
NONE_YET = {"server_default": text("'[]'")}


def time_stamp() -> Any:
    """A column with the time at which its row is created."""
    return Field(default_factory=now, sa_type=UtcDateTime)


def index_where_set(table: str, column: str) -> Index:
    """A partial index of a column that is NULL in most rows, over the other rows."""
    where = text(f"{column} IS NOT NULL")
    return Index(f"ix_{table}_{column}", column, sqlite_where=where, postgresql_where=where)
