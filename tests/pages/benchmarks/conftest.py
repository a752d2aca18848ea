"""A project with benchmark results."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine

from db.engine import writing
from db.models import Encoder
from tests.pages.benchmarks.support.page import (
    HOSTILE,
    semantoneg,
    store,
)


@pytest.fixture
def measured(app_engine: Engine, tmp_path: Path) -> Engine:
    """Three models. The second was trained from the first."""
    with writing(app_engine) as session:
        first = Encoder(name="base", fingerprint="b" * 64)
        session.add(first)
        session.flush()
        session.add(Encoder(name="run 7: base", fingerprint="c" * 64, path="x", base_id=first.id))
    store(app_engine, HOSTILE, semantoneg(tmp_path, 0))
    store(app_engine, "base", semantoneg(tmp_path, 2), hash_="b" * 64)
    store(app_engine, "run 7: base", semantoneg(tmp_path, 5), hash_="c" * 64)
    return app_engine
