"""Conventions of all tables; column types and SQL that behave the same on SQLite and PostgreSQL."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar, TypeVar, TypeVarTuple

from sqlalchemy import (
    JSON,
    ColumnElement,
    DateTime,
    Dialect,
    Enum,
    Float,
    Index,
    Integer,
    false,
    text,
    true,
)
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


def limited_to(column: Any, wanted: Any) -> ColumnElement[bool]:
    """SQL: the column has this value, or one of the values of a sequence; None means any value."""
    if wanted is None:
        return true()
    several = isinstance(wanted, list | tuple | set | frozenset)
    found: ColumnElement[bool] = column.in_(wanted) if several else column == wanted
    return found


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


class _Expression(FunctionElement[Any]):
    """An SQL expression that the databases write differently; each subclass has a format."""

    sqlite: ClassVar[str]
    postgresql: ClassVar[str]


@compiles(_Expression)
def _compiled(element: _Expression, compiler: SQLCompiler, **kw: Any) -> str:
    written: str = getattr(element, compiler.dialect.name)
    return written.format(*(compiler.process(clause, **kw) for clause in element.clauses))


# The trailing zeros give the six digits that SQLAlchemy stores, so that strings compare.
_SQLITE_TIME = "%Y-%m-%d %H:%M:%f000"


class db_now(_Expression):
    """The current time by the database's clock, which all hosts of a database share."""

    type = UtcDateTime()
    inherit_cache = True
    sqlite = f"strftime('{_SQLITE_TIME}', 'now')"
    postgresql = "timezone('utc', clock_timestamp())"


class db_later(_Expression):
    """The current time by the database's clock plus this many seconds."""

    type = UtcDateTime()
    inherit_cache = True
    sqlite = f"strftime('{_SQLITE_TIME}', 'now', {{0}} || ' seconds')"
    postgresql = "timezone('utc', clock_timestamp()) + {0} * interval '1 second'"


class whole(_Expression):
    """The integer part of a number that is not negative. PostgreSQL's cast alone would round."""

    type = Integer()
    inherit_cache = True
    sqlite = "CAST({0} AS INTEGER)"
    postgresql = "CAST(floor({0}) AS INTEGER)"


class seconds_between(_Expression):
    """Seconds from the first time to the second."""

    type = Float()
    inherit_cache = True
    sqlite = "((julianday({1}) - julianday({0})) * 86400)"
    postgresql = "CAST(extract(epoch FROM {1} - {0}) AS double precision)"
