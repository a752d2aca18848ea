"""A project with a family, and a reviewer's window over three families."""

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from tests.curation.review.desk import Desk
from tests.support.databases import Fill
from tests.support.factories import add_family, person
from tests.support.reviewing import state as state


@pytest.fixture
def desk(engine: Engine, fill: Fill) -> Desk:
    """A project with a family, and Ada."""

    def made(session: Session) -> None:
        add_family(session)
        person(session)

    fill(engine, made)
    return Desk(engine)


@pytest.fixture
def twelve(engine: Engine, fill: Fill) -> Desk:
    """A project with twelve families, whose verbal variants are 1, 8 and so on, and Ada."""

    def made(session: Session) -> None:
        for n in range(12):
            add_family(session, f"Bridge {n} is safe.", subject=f"bridge {n}")
        person(session)

    fill(engine, made)
    return Desk(engine)
