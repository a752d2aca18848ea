"""Two anchors, and a reviewer."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.review import actions
from db.engine import writing
from tests.pages.anchors.support.anchor_page import HOSTILE
from tests.support.factories import add_anchor, add_family, person


@pytest.fixture
def bo(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bo is signed in."""
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Bo")


@pytest.fixture
def unnamed(with_source: Engine) -> Engine:
    """A family of which Ada has accepted one variant, and an anchor without variants."""
    with writing(with_source) as session:
        family = add_family(session)
        add_anchor(session, HOSTILE)
        actions.accept(session, actions.shown(family["verbal"]), reviewer_id=person(session))
    return with_source


@pytest.fixture
def two_anchors(bo: None, unnamed: Engine) -> Engine:
    """The same, seen by Bo."""
    return unnamed
