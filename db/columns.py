"""Conventions of all tables; column types and SQL that behave the same on SQLite and PostgreSQL."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar, TypeVarTuple

from sqlalchemy import JSON, DateTime, Dialect, Enum, Float, Index, Integer, false, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Mapped
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine
from sqlmodel import Field, SQLModel

_Value = TypeVar("_Value")
Columns = TypeVarTuple("Columns")
"""The columns of a query that a function filters and returns."""

JsonColumn: TypeEngine[Any] = JSON().with_variant(JSONB(), "postgresql")
"""JSON, stored as JSONB on PostgreSQL."""

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


class UtcDateTime(TypeDecorator[datetime]):
    """A time, stored in UTC without a time zone and returned as UTC.

    SQLite stores no time zones.
    """

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert an aware time to naive UTC. A naive one is a programming error."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("expected a time with a time zone, found one without")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the stored time as aware UTC."""
        return None if value is None else value.replace(tzinfo=UTC)


def enum_column(kind: type[StrEnum]) -> Enum:
    """A string column for the values of ``kind``.

    It is not a native enumeration, so new values need no migration.
    """
    return Enum(
        kind,
        native_enum=False,
        create_constraint=False,
        length=32,
        values_callable=lambda members: [member.value for member in members],
    )


def not_null(column: Mapped[_Value | None]) -> Mapped[_Value]:
    """The same column, typed for a query whose conditions exclude NULL."""
    return column  # type: ignore[return-value]  # conditions are not part of a query's type


def now() -> datetime:
    """The current time by this machine's clock, in UTC."""
    return datetime.now(UTC)


def time_stamp() -> Any:
    """A column with the time at which its row is created."""
    return Field(default_factory=now, sa_type=UtcDateTime)


def index_where_set(table: str, column: str) -> Index:
    """A partial index of a column that is NULL in most rows, over the other rows."""
    where = text(f"{column} IS NOT NULL")
    return Index(f"ix_{table}_{column}", column, sqlite_where=where, postgresql_where=where)


class db_now(FunctionElement[datetime]):
    """The current time by the database's clock, which all hosts of a database share."""

    type = UtcDateTime()
    inherit_cache = True
    name = "db_now"


@compiles(db_now, "sqlite")
def _db_now_sqlite(element: db_now, compiler: SQLCompiler, **kw: Any) -> str:
    # The trailing zeros give the six digits that SQLAlchemy stores, so that strings compare.
    return "strftime('%Y-%m-%d %H:%M:%f000', 'now')"


@compiles(db_now, "postgresql")
def _db_now_postgresql(element: db_now, compiler: SQLCompiler, **kw: Any) -> str:
    return "timezone('utc', clock_timestamp())"


class db_later(FunctionElement[datetime]):
    """The current time by the database's clock plus this many seconds."""

    type = UtcDateTime()
    inherit_cache = True
    name = "db_later"


@compiles(db_later, "sqlite")
def _db_later_sqlite(element: db_later, compiler: SQLCompiler, **kw: Any) -> str:
    seconds = compiler.process(element.clauses, **kw)
    return f"strftime('%Y-%m-%d %H:%M:%f000', 'now', {seconds} || ' seconds')"


@compiles(db_later, "postgresql")
def _db_later_postgresql(element: db_later, compiler: SQLCompiler, **kw: Any) -> str:
    seconds = compiler.process(element.clauses, **kw)
    return f"timezone('utc', clock_timestamp()) + {seconds} * interval '1 second'"


class whole(FunctionElement[int]):
    """The integer part of a number that is not negative."""

    type = Integer()
    inherit_cache = True
    name = "whole"


@compiles(whole, "sqlite")
def _whole_sqlite(element: whole, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **kw)} AS INTEGER)"


@compiles(whole, "postgresql")
def _whole_postgresql(element: whole, compiler: SQLCompiler, **kw: Any) -> str:
    # A cast alone would round.
    return f"CAST(floor({compiler.process(element.clauses, **kw)}) AS INTEGER)"


class seconds_between(FunctionElement[float]):
    """Seconds from the first time to the second."""

    type = Float()
    inherit_cache = True
    name = "seconds_between"


@compiles(seconds_between, "sqlite")
def _seconds_between_sqlite(element: seconds_between, compiler: SQLCompiler, **kw: Any) -> str:
    first, second = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"((julianday({second}) - julianday({first})) * 86400)"


@compiles(seconds_between, "postgresql")
def _seconds_between_postgresql(element: seconds_between, compiler: SQLCompiler, **kw: Any) -> str:
    first, second = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"CAST(extract(epoch FROM {second} - {first}) AS double precision)"
