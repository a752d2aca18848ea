"""Projects to import into."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.diagnostics import measuring
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import writing
from db.migrate import upgrade
from db.settings import Settings, load_settings
from tests.support.databases import Server, opened, sqlite


@pytest.fixture
def settings(home: Path) -> Settings:
    return load_settings()


@pytest.fixture
def seeded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An empty project. No measuring process is started."""
    monkeypatch.setattr(measuring, "start_process", lambda *_: None)
    with writing(engine) as session:
        seed_taxonomy(session)
    return engine


@pytest.fixture
def second(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engine]:
    """Another empty project, on the same kind of database."""
    monkeypatch.setattr(measuring, "start_process", lambda *_: None)
    server: Server | None = request.getfixturevalue("server") if backend != "sqlite" else None
    url = server.create() if server else sqlite(tmp_path / "second.db")
    with opened(url) as engine:
        upgrade(engine)
        with writing(engine) as session:
            seed_taxonomy(session)
        yield engine
    if server:
        server.drop(url)
