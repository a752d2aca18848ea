"""Databases for tests: migrations run once, and every test gets a copy of the result."""

import hashlib
import json
import os
import shutil
import sqlite3
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
from filelock import FileLock
from sqlalchemy import Connection, Engine, text
from sqlalchemy.engine import URL
from sqlmodel import Session, SQLModel

from curation.corpora.corpus import STARTER
from curation.importing.corpora import load
from curation.overview.project_settings import open_project
from db.engine import create_engine, reading, writing
from db.migrate import upgrade
from db.models import Run
from db.runs import get_run
from db.settings import Settings
from tests.support.checkout import ROOT

both_databases = pytest.mark.databases("sqlite", "postgresql")
"""For tests whose outcome depends on the kind of database: SQL, locks, constraints, storage."""

one_database = pytest.mark.databases("sqlite")
"""For a test in such a file whose outcome does not depend on it."""

USED = " UNION ALL ".join(
    f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in SQLModel.metadata.tables
)
LARGE = """
SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
AND pg_relation_size(oid) > 1000000
"""
"""Tables with many rows, or with the remains of many."""
MAY_REPLICATE = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
RESTART = """
SELECT setval(oid::regclass, 1, false) FROM pg_class
WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace
"""
END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
SCHEMA = """
SELECT md5(string_agg(thing, '|' ORDER BY thing)) FROM (
    SELECT concat_ws(' ', 'column', attrelid, attnum, attname, atttypid, attnotnull) AS thing
    FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
    WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT concat_ws(' ', 'index', indexrelid, indrelid, indisvalid)
    FROM pg_index JOIN pg_class c ON c.oid = indrelid
    WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT concat_ws(' ', 'constraint', oid, convalidated)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT concat_ws(' ', 'trigger', oid, tgenabled) FROM pg_trigger
    UNION ALL SELECT concat_ws(' ', 'function', oid, prosrc)
    FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT concat_ws(' ', 'version', version_num) FROM alembic_version
) AS things
"""
"""A value that covers everything that a migration creates. Emptying tables does not change it."""


T = TypeVar("T")


class Fill(Protocol):
    """Fills a database with the result of a function. Returns the function's result; do not change
    it."""

    def __call__(self, engine: Engine, work: Callable[[Session], T]) -> T: ...


class Copies:
    """SQLite databases, copied from files that were created once."""

    def __init__(self, folder: Path, *, kept: Path) -> None:
        """Take a folder for this run and one for templates, which several processes may share.

        The templates are kept from run to run until the code or data changes that makes them.
        """
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._templates = kept / _digest(*_sources())
        if not self._templates.exists():
            with FileLock(kept.with_suffix(".lock")):
                if not self._templates.exists():
                    shutil.rmtree(kept)
                    self._templates.mkdir(parents=True)
        self._filled: dict[tuple[str, str], tuple[Path, Any]] = {}

    def migrated(self, target: Path) -> URL:
        """The address of a new upgraded, empty database at ``target``."""
        return self._copied("empty", _migrate, target)

    def project(self, target: Path) -> URL:
        """The same after a project was opened there."""
        return self._copied("project", _open, target)

    def starter(self, target: Path) -> URL:
        """The same with the starter corpus."""
        return self._copied("starter", self._load, target)

    def fill(self, engine: Engine, work: Callable[[Session], T]) -> T:
        """Let ``work`` fill a database, or copy its result for an equal one.

        The result must depend only on the database, so ``work`` uses nothing of its test.
        """
        assert not work.__closure__
        if engine.name != "sqlite":
            with writing(engine) as session:
                return work(session)
        path = Path(str(engine.url.database))
        log = path.with_name(path.name + "-wal")
        key = f"{work.__module__}.{work.__qualname__}", _digest(path, log)
        if key in self._filled:
            kept, result = self._filled[key]
            _copy(kept, path)
            return result
        with writing(engine) as session:
            result = work(session)
        kept = self._folder / f"{uuid.uuid4().hex}.db"
        _copy(path, kept)
        self._filled[key] = kept, result
        return result

    def _copied(self, name: str, make: Callable[[Path], None], target: Path) -> URL:
        template = self._templates / name / "hedgerow.db"
        if not template.exists():
            with FileLock(self._templates / f"{name}.lock"):
                if not template.exists():
                    draft = self._folder / f"{name}.draft"
                    draft.mkdir()
                    make(draft / "hedgerow.db")
                    draft.rename(template.parent)
        shutil.copyfile(template, target)
        return sqlite(target)

    def _load(self, path: Path) -> None:
        load_starter(self.migrated(path))


def _migrate(path: Path) -> None:
    with opened(sqlite(path)) as engine:
        upgrade(engine)


def _migrate_server(url: URL) -> list[str]:
    with _connected(url) as connection:
        upgrade(connection.engine)
        assert _scalars(connection, USED) == []  # otherwise emptying would lose rows
        return _scalars(connection, SCHEMA)


def _load_on_server(url: URL) -> list[str]:
    load_starter(url)
    return []


def _open(path: Path) -> None:
    open_project(Settings(home=path.parent, database_url="")).dispose()


def _sources() -> list[Path]:
    """The files that decide what the templates contain."""
    paths = (path for folder in ("curation", "db") for path in (ROOT / folder).rglob("*.*"))
    return sorted(path for path in paths if path.suffix not in (".pyc", ".safetensors"))


def _digest(*paths: Path) -> str:
    """A value that covers the contents of the files that exist."""
    found = hashlib.sha256()
    for path in paths:
        if path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()


def _copy(source: Path, target: Path) -> None:
    """Copy a database that may be in use over another one."""
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        other.execute("PRAGMA synchronous=OFF")
        one.backup(other)


class Server:
    """Databases of a PostgreSQL server, all dropped at the end.

    All processes of a test run copy the same templates. Copying takes several times as long as
    emptying a database's tables, so upgraded databases are used again: they are emptied, and
    renamed so that a process that outlives its test can't connect any more. A database with a
    changed schema is dropped.
    """

    def __init__(self, url: URL, folder: Path) -> None:
        """Take the server's address and a folder that the processes of this run share."""
        self._url = url
        self._folder = folder
        engine = create_engine(url)
        self._admin = engine.execution_options(isolation_level="AUTOCOMMIT").connect()
        self._schema: list[str] = []
        self._spares: deque[URL] = deque()

    def close(self) -> None:
        """Drop the databases kept for later tests."""
        for url in self._spares:
            self.drop(url)
        self._admin.close()
        self._admin.engine.dispose()

    def create(self, *, template: URL | None = None) -> URL:
        """The address of a new database: empty, or a copy of one that has no connections."""
        url = self._named()
        copied = f" TEMPLATE {template.database}" if template else ""
        self._say(f"CREATE DATABASE {url.database}{copied}")
        return url

    def drop(self, url: URL) -> None:
        """Remove the database, even if it has connections."""
        self._say(f"DROP DATABASE {url.database} WITH (FORCE)")

    @contextmanager
    def migrated(self) -> Iterator[URL]:
        """An upgraded, empty database for one test."""
        # The second-to-last database. Nothing is connected to it any more, and renaming would have
        # to wait for connections.
        if len(self._spares) > 1:
            url = self._renamed(self._spares.popleft())
        else:
            url = self.create(template=self._migrated_template())
        try:
            yield url
        finally:
            if self._emptied(url):
                self._spares.append(url)
            else:
                self.drop(url)

    @contextmanager
    def starter(self) -> Iterator[URL]:
        """The same with the starter corpus."""
        url = self.create(template=self._template("starter", _load_on_server)[0])
        try:
            yield url
        finally:
            self.drop(url)

    def _migrated_template(self) -> URL:
        url, self._schema = self._template("migrated", _migrate_server)
        return url

    def _template(self, name: str, fill: Callable[[URL], list[str]]) -> tuple[URL, list[str]]:
        """A database that is created once in a run, and what ``fill`` returned.

        Nobody may connect to it later, because a database with connections can't be copied.
        """
        known = self._folder / f"postgres-{name}.json"
        with FileLock(known.with_suffix(".lock")):
            if not known.exists():
                url = self.create(
                    template=None if name == "migrated" else self._migrated_template()
                )
                known.write_text(json.dumps([url.database, fill(url)]), encoding="utf-8")
        database, result = json.loads(known.read_text(encoding="utf-8"))
        return self._url.set(database=database), result

    def _renamed(self, url: URL) -> URL:
        new = self._named()
        self._say(f"ALTER DATABASE {url.database} RENAME TO {new.database}")
        return new

    def _emptied(self, url: URL) -> bool:
        """Delete all rows. Returns False if the test has changed more than rows."""
        with _connected(url) as connection:
            _scalars(connection, END_OTHERS)
            if _scalars(connection, SCHEMA) != self._schema:
                return False
            _empty(connection)
            _scalars(connection, RESTART)
            connection.commit()
        return True

    def _named(self) -> URL:
        return self._url.set(database=f"{_prefix()}{uuid.uuid4().hex[:8]}")

    def _say(self, statement: str) -> None:
        self._admin.execute(text(statement))


def drop_databases(url: URL) -> None:
    """Drop everything that this run has left on the PostgreSQL server, its templates first of all.

    Only the process that started the others calls this, at its end.
    """
    engine = create_engine(url).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for name in _scalars(connection, "SELECT datname FROM pg_database"):
            if name.startswith(_prefix()):
                connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


def _prefix() -> str:
    """The beginning of the names of this run's databases."""
    return f"hedgerow_test_{os.environ['HEDGEROW_TEST_RUN']}_"


def sqlite(path: Path) -> URL:
    """The address of a SQLite file."""
    return URL.create("sqlite", database=str(path))


@contextmanager
def opened(url: URL) -> Iterator[Engine]:
    """An engine for the database. Closing the last connection leaves a single SQLite file."""
    engine = create_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()


def _empty(connection: Connection) -> None:
    """Delete all rows. Deleting a few is much faster than truncating."""
    tables = _scalars(connection, USED)
    large = _scalars(connection, LARGE)
    if large or not _scalars(connection, MAY_REPLICATE)[0]:
        if tables := list({*tables, *large}):
            connection.execute(text(f"TRUNCATE {', '.join(tables)} CASCADE"))
        return
    connection.execute(text("SET LOCAL session_replication_role = replica"))  # no triggers
    for table in tables:
        connection.execute(text(f"DELETE FROM {table}"))


def start_over(session: Session) -> None:
    """Delete everything but the types, without the triggers that protect rows."""
    session.commit()
    connection = session.connection()
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL session_replication_role = replica"))
    else:
        for name in _scalars(connection, "SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            connection.execute(text(f"DROP TRIGGER {name}"))
    for table in reversed(SQLModel.metadata.sorted_tables):
        if not table.name.startswith("variant_type"):
            connection.execute(table.delete())
    session.commit()
    session.expunge_all()


def load_starter(url: URL) -> None:
    """Load the starter corpus into an upgraded database."""
    with opened(url) as engine, writing(engine) as session:
        load(session, STARTER)


@contextmanager
def _connected(url: URL) -> Iterator[Connection]:
    with opened(url) as engine, engine.connect() as connection:
        yield connection


def _scalars(connection: Connection, query: str) -> list[str]:
    return list(connection.execute(text(query)).scalars())


def stored_run(engine: Engine, run_id: int) -> Run:
    """The current run in the database."""
    with reading(engine) as session:
        return get_run(session, run_id)
