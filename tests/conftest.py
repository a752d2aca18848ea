"""Fixtures for all tests: every test has its own database and working directory."""

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import URL, make_url

from curation.project import open_project
from curation.starter_corpus import load_starter_corpus
from db.engine import create_engine, writing
from db.migrate import upgrade
from db.settings import Settings

POSTGRES = os.environ.get("HEDGEROW_TEST_POSTGRES_URL", "")
IN_CI = bool(os.environ.get("CI"))

# No test reaches a model hub; setting it here also covers the processes that tests start.
os.environ["HF_HUB_OFFLINE"] = "1"


def missing(what: str) -> None:
    """Skip a test on a developer's machine that lacks ``what``; fail it in CI."""
    if IN_CI:
        pytest.fail(f"CI needs {what}")
    pytest.skip(f"needs {what}")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own working directory, free of the developer's settings."""
    for name in list(os.environ):
        if name.startswith("HEDGEROW_") and not name.startswith("HEDGEROW_TEST_"):
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HEDGEROW_HOME", str(folder))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, home: Path) -> Iterator[URL]:
    """The address of an empty database, once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        yield URL.create("sqlite", database=str(home / "hedgerow.db"))
        return
    if not POSTGRES:
        missing("a PostgreSQL server (HEDGEROW_TEST_POSTGRES_URL)")
    name = f"hedgerow_test_{uuid.uuid4().hex[:12]}"
    server = create_engine(make_url(POSTGRES)).execution_options(isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield make_url(POSTGRES).set(database=name)
    finally:
        with server.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        server.dispose()


@pytest.fixture
def engine(url: URL) -> Iterator[Engine]:
    """An upgraded, empty database."""
    engine = create_engine(url)
    upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def starter_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database that holds the starter corpus; to be copied, not changed."""
    folder = tmp_path_factory.mktemp("starter")
    engine = open_project(Settings(home=folder, database_url=""))
    with writing(engine) as session:
        load_starter_corpus(session)
    engine.dispose()  # closing the last connection leaves one file
    return folder


@pytest.fixture
def loaded_home(home: Path, starter_home: Path) -> Path:
    """The test's own working directory, with the starter corpus loaded."""
    shutil.copy(starter_home / "hedgerow.db", home)
    return home
