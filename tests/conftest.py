"""Fixtures for all tests: every test has its own database and working directory."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import URL, make_url

from db.engine import create_engine
from db.migrate import upgrade

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
