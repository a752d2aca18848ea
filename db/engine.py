"""The connection to the database: read sessions, write sessions.

On SQLite a write session starts with BEGIN IMMEDIATE. A deferred transaction that reads and then
writes is refused with 'database is locked' at once, whatever the busy timeout, as soon as another
process has written in between.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy import create_engine as _create_engine
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry
from sqlmodel import SQLModel

from db.errors import HedgerowError
from db.failures import explain, shown_address
from db.trigrams import index_new_texts

BUSY_TIMEOUT_MS = 60_000
"""How long a writer waits for another, in milliseconds; a large release takes half of it."""


ROWS_AT_ONCE = 5_000

_Row = TypeVar("_Row")

_before_writing: list[Callable[[], None]] = []


def create_engine(url: URL, *, create: bool = True) -> Engine:
    """An engine for ``url`` (SQLite or PostgreSQL) with the project's connection settings.

    Args:
        create: let SQLite make the file; otherwise a missing one is an error on first use.
    """
    if url.get_backend_name() == "postgresql":
        return _create_engine(url, pool_pre_ping=True)
    engine = _create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    if url.database:
        _watch_file(engine, Path(url.database), create=create)
    return engine


def _watch_file(engine: Engine, path: Path, *, create: bool) -> None:
    """Detect that the database file was removed or replaced while it was open.

    SQLite would go on in the file that is no longer there, and what it is told would be lost; or
    it would make an empty one, which then stands in the way of putting the real one back.
    """
    seen: list[tuple[int, int]] = []

    def identity() -> tuple[int, int] | None:
        try:
            found = path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def refuse_a_new_file(*_: object) -> None:
        if (seen or not create) and identity() is None:
            where = shown_address(engine.url)
            raise HedgerowError(
                f"The database {where} no longer exists; restore it, or restart Hedgerow."
            )

    def opened(_: DBAPIConnection, record: ConnectionPoolEntry) -> None:
        record.info["file"] = identity()
        seen[:] = [record.info["file"]]

    def taken(_: DBAPIConnection, record: ConnectionPoolEntry, __: object) -> None:
        if record.info["file"] != identity():
            raise InvalidatePoolError  # all connections are reopened

    event.listen(engine, "do_connect", refuse_a_new_file)
    event.listen(engine, "connect", opened)
    event.listen(engine, "checkout", taken)


def _prepare_sqlite(connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
    if not isinstance(connection, sqlite3.Connection):  # pragma: no cover (only sqlite gets here)
        return
    connection.isolation_level = None  # transactions are begun by _begin_sqlite
    connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA journal_mode=WAL")
    # FULL: a decision shown as done is on the disk.
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA cache_size=-65536")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql(f"PRAGMA query_only={'OFF' if writes else 'ON'}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """A read-only session with a consistent snapshot."""
    options = {"postgresql_readonly": True, "isolation_level": "REPEATABLE READ"}
    reader = engine.execution_options(**options) if engine.name == "postgresql" else engine
    with explained(engine), Session(reader, expire_on_commit=False) as session:
        yield session


def before_writing(check: Callable[[], None]) -> None:
    """Have this called before any session that writes is opened; what it raises refuses that."""
    _before_writing.append(check)


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """A session that can write. Commits at the end; an exception rolls everything back.

    Raises:
        HedgerowError: whoever acts may not write anything (see ``before_writing``).
    """
    for check in _before_writing:
        check()
    writer = engine.execution_options(writes=True)
    with explained(engine), Session(writer, expire_on_commit=False) as session:
        yield session
        if engine.name == "sqlite" and session.in_transaction():
            session.flush()
            index_new_texts(session)
        session.commit()


def insert_new(session: Session, table: type[SQLModel], rows: list[dict[str, Any]]) -> None:
    """Insert rows; rows that another process has stored meanwhile are equal and are kept."""
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table).on_conflict_do_nothing()
    for some in batched(rows):
        session.connection().execute(statement, some)


def batched(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    """The rows, as many at a time as go to the driver's executemany: a call of PostgreSQL's with
    80,000 rows took twice as long as eight with 10,000."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[start : start + ROWS_AT_ONCE]


def know_new_rows(session: Session, *tables: type[SQLModel]) -> None:
    """Have PostgreSQL plan for the rows that this transaction has inserted into these tables.

    Its statistics are otherwise brought up to date only after the commit: until then it takes a new
    table for an empty one and reads all of it for every few hundred rows that are looked up.
    """
    if session.get_bind().dialect.name == "postgresql":
        for table in tables:
            session.connection().exec_driver_sql(f'ANALYZE "{table.__tablename__}"')


@contextmanager
def one_at_a_time(engine: Engine) -> Iterator[None]:
    """Of the processes that make or upgrade a PostgreSQL database, let one in at a time.

    On SQLite they wait for each other by themselves, since each begins with BEGIN IMMEDIATE.
    """
    if engine.name != "postgresql":
        yield
        return
    with explained(engine), engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('hedgerow'))"))
        yield


@contextmanager
def explained(engine: Engine) -> Iterator[None]:
    """Translate errors that a person can fix into one sentence."""
    try:
        yield
    except DBAPIError as error:
        told = explain(engine, error, busy_seconds=BUSY_TIMEOUT_MS / 1000)
        if told is None:
            raise
        raise told from error
