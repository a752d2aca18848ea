"""The connection to the database: read sessions and write sessions.

On SQLite, a write session starts with BEGIN IMMEDIATE. Otherwise, a transaction that reads first
and writes later fails at once with 'database is locked' if another process has written in between,
whatever the busy timeout.

Nobody should wait for more than a second to store a decision. Large amounts are therefore written
in pieces (`write_in_pieces`), and whoever has held SQLite's only write lock for long lets others
have it before taking it again (`writing`).
"""

import gc
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
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
from db.extras import require_package
from db.failures import explain, is_busy, shown_address
from db.trigrams import index_new_texts

BUSY_TIMEOUT_MS = 60_000
"""How long a writer waits for others, in milliseconds. A run then tries again (`patient`)."""


ROWS_AT_ONCE = 5_000

LONG_SECONDS = 0.03
"""A write session that takes this long lets others write before the same thread writes again."""

TURN_SECONDS = 0.11
"""How long others have their turn. A writer that waits for SQLite looks every 0.1 seconds."""

PIECE_SECONDS = 0.3
"""How long one piece of a large amount should take to write."""

_turn = threading.local()
"""When this thread's latest transaction on SQLite began, and when it may write again."""

_Row = TypeVar("_Row")

_patience: ContextVar[Callable[[], None] | None] = ContextVar("patience", default=None)
"""What to do while the database is busy, before the next attempt; None for giving up."""

_before_writing: list[Callable[[], None]] = []


def create_engine(url: URL, *, create: bool = True) -> Engine:
    """An engine for ``url`` (SQLite or PostgreSQL) with the project's connection settings.

    Args:
        create: let SQLite create the file; otherwise a missing file is an error on first use.
    """
    if url.get_backend_name() == "postgresql":
        require_package("psycopg", by="Projects in PostgreSQL")
        return _create_engine(url, pool_pre_ping=True)
    engine = _create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    if url.database:
        _watch_file(engine, Path(url.database), create=create)
    return engine


def _watch_file(engine: Engine, path: Path, *, create: bool) -> None:
    """Detect that the database file was removed or replaced while it was open.

    SQLite would keep writing to the removed file, and the changes would be lost. Or it would create
    an empty file in the place of the one to restore.
    """
    seen: list[tuple[int, int]] = []

    def identity() -> tuple[int, int] | None:
        try:
            found = path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def refuse_new_file(*_: object) -> None:
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

    event.listen(engine, "do_connect", refuse_new_file)
    event.listen(engine, "connect", opened)
    event.listen(engine, "checkout", taken)


def _prepare_sqlite(connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
    if not isinstance(connection, sqlite3.Connection):  # pragma: no cover (only sqlite gets here)
        return
    connection.isolation_level = None  # transactions are begun by _begin_sqlite
    connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA journal_mode=WAL")
    # FULL: a decision is on the disk before it is shown as stored.
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA cache_size=-65536")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql(f"PRAGMA query_only={'OFF' if writes else 'ON'}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
    if writes:
        _turn.begun = time.monotonic()


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """A read-only session with a consistent snapshot."""
    options: dict[str, Any] = {"writes": False}
    if engine.name == "postgresql":
        options |= {"postgresql_readonly": True, "isolation_level": "REPEATABLE READ"}
    reader = engine.execution_options(**options)
    with explained(engine), Session(reader, expire_on_commit=False) as session:
        yield session


def before_writing(check: Callable[[], None]) -> None:
    """Register a check that runs before each write session and can refuse it with an exception."""
    _before_writing.append(check)


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """A session that can write. Commits at the end; an exception rolls everything back.

    Raises:
        HedgerowError: the person may not write anything (see ``before_writing``).
    """
    for check in _before_writing:
        check()
    writer = engine.execution_options(writes=True)
    is_sqlite = engine.name == "sqlite"
    if is_sqlite:
        time.sleep(max(0.0, getattr(_turn, "again", 0.0) - time.monotonic()))
    with explained(engine), Session(writer, expire_on_commit=False) as session:
        if (wait := _patience.get()) is not None:
            _begin(session, wait)
        yield session
        if is_sqlite and session.in_transaction():
            session.flush()
            index_new_texts(session)
            session.commit()
            if (ended := time.monotonic()) - _turn.begun > LONG_SECONDS:
                _turn.again = ended + TURN_SECONDS
        session.commit()


def _begin(session: Session, wait: Callable[[], None]) -> None:
    while True:
        try:
            session.connection()
        except DBAPIError as error:
            if not is_busy(error):
                raise
            session.rollback()
            wait()
        else:
            return


@contextmanager
def patient(wait: Callable[[], None]) -> Iterator[None]:
    """Within this block, a write session that finds the database busy tries again, without end.

    Args:
        wait: called before each further attempt; it may raise to stop.
    """
    token = _patience.set(wait)
    try:
        yield
    finally:
        _patience.reset(token)


def write_in_pieces(
    engine: Engine,
    rows: Iterable[_Row],
    write: Callable[[Session, list[_Row]], object],
    *,
    first: int = 200,
) -> None:
    """Write any number of rows in short transactions, between which others can write.

    Each piece must leave the project consistent. If it is stopped in between, the pieces before are
    stored.

    Args:
        write: writes some of the rows in the session given. The pieces are as large as can be
            written in `PIECE_SECONDS`.
        first: the size of the first piece.
    """
    left, size = iter(rows), min(first, ROWS_AT_ONCE)
    while piece := list(islice(left, size)):
        with writing(engine) as session:
            session.connection()  # waits for others; what follows does not
            begun = time.monotonic()
            write(session, piece)
        took = time.monotonic() - begun
        size = round(size * min(1.5, max(0.25, PIECE_SECONDS / max(took, 0.001))))
        size = min(max(size, 1), ROWS_AT_ONCE)


def insert_new(session: Session, table: type[SQLModel], rows: list[dict[str, Any]]) -> None:
    """Insert rows, except those that another process has stored meanwhile, which are equal."""
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table).on_conflict_do_nothing()
    for some in batched(rows):
        session.connection().execute(statement, some)


def batched(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    """The rows in batches for executemany. On PostgreSQL, one call with 80,000 rows took twice as
    long as eight calls with 10,000."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[start : start + ROWS_AT_ONCE]


def know_new_rows(session: Session, *tables: type[SQLModel]) -> None:
    """Make PostgreSQL's planner aware of rows that this transaction has inserted.

    Otherwise, statistics are updated only after the commit. Until then, PostgreSQL assumes that a
    new table is empty, and scans all of it for every few hundred rows to look up.
    """
    if session.get_bind().dialect.name == "postgresql":
        for table in tables:
            session.connection().exec_driver_sql(f'ANALYZE "{table.__tablename__}"')


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector from repeatedly scanning all new objects.

    Rows contain no cycles, so it would find nothing, and reference counting still frees unused
    rows. With the collector on, importing 50,000 anchors takes a fifth more CPU time (2.7 s instead
    of 2.3 s).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def one_at_a_time(engine: Engine) -> Iterator[None]:
    """Let only one process at a time create or upgrade a PostgreSQL database.

    On SQLite, processes wait for each other anyway, because they start with BEGIN IMMEDIATE.
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
        explained_error = explain(engine, error, busy_seconds=BUSY_TIMEOUT_MS / 1000)
        if explained_error is None:
            raise
        raise explained_error from error
