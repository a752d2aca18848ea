"""A project that is ready for training."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from sqlmodel import Session

from db.models import Split
from tests.curation.support.families import add_plain_family
from tests.support.databases import Fill


@pytest.fixture
def project(app_engine: Engine, fill: Fill) -> Engine:
    """Nine accepted families in the training part, and no release yet."""

    def made(session: Session) -> None:
        for number in range(9):
            add_plain_family(session, number, split=Split.TRAIN)

    fill(app_engine, made)
    return app_engine
