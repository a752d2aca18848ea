"""The tests' own chat server, and anchors to ask it about."""

import pytest
from sqlalchemy import Engine
from sqlmodel import Session

from tests.support.databases import Fill
from tests.support.factories import add_anchor
from tests.support.generating import Serve as Serve
from tests.support.generating import serve_chat as serve_chat


@pytest.fixture
def anchors(engine: Engine, fill: Fill) -> Engine:
    """Forty anchors without variants."""

    def made(session: Session) -> None:
        for number in range(40):
            add_anchor(session, f"The bridge number {number} is safe.")

    fill(engine, made)
    return engine
