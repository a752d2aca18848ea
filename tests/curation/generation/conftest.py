"""A chat server of our own, and anchors to ask it about."""

import pytest
from sqlalchemy import Engine

from db.engine import writing
from tests.support.factories import add_anchor
from tests.support.generating import Serve as Serve
from tests.support.generating import serve_chat as serve_chat


@pytest.fixture
def anchors(engine: Engine) -> Engine:
    """Forty anchors without variants."""
    with writing(engine) as session:
        for number in range(40):
            add_anchor(session, f"The bridge number {number} is safe.")
    return engine
