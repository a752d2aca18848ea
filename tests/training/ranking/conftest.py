"""Tiny models of each architecture, and a project to finetune them in."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine

from db.engine import create_engine
from tests.support.databases import Copies
from tests.training.benchmarks.conftest import tiny_colbert as tiny_colbert
from tests.training.benchmarks.conftest import tiny_cross as tiny_cross
from tests.training.benchmarks.conftest import tiny_nli as tiny_nli
from tests.training.benchmarks.conftest import tokenizer as tokenizer


@pytest.fixture
def engine(home: Path, copies: Copies) -> Engine:
    return create_engine(copies.migrated(home / "hedgerow.db"))
