"""A review session for three families, for testing the effect of its keys."""

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.review.browser_window import key_actions
from curation.review.browser_window.key_actions import ReviewState
from curation.review.deciding import ShownCard
from curation.taxonomy.project_types import list_types
from db.engine import reading, writing
from db.models import Status, Variant
from tests.support.factories import add_family, person

VERBAL = select(Variant).where(col(Variant.type_id) == "verbal").order_by(col(Variant.id))


def draw(state: ReviewState) -> ShownCard:
    """Draw the page. Returns the current meanings of the keys."""
    view = state.view()
    state.drawn_now()
    assert view.focus is not None
    return state.showings[view.focus.variant.id]


def draw_same(state: ReviewState, shown: ShownCard) -> ShownCard:
    """Draw the page with a card that another window shows, as its permalink does."""
    state.pin(shown.variant_id)
    return draw(state)


def status(state: ReviewState, variant_id: int) -> Status:
    """The status of a variant after its decisions."""
    with reading(state.engine) as session:
        return session.get_one(Variant, variant_id).status


def colleague(state: ReviewState, name: str = "Bert") -> ReviewState:
    """Another window on the same queue, for another person or for the same one."""
    with writing(state.engine) as session:
        number = person(session, name)
    other = ReviewState(engine=state.engine, reviewer_id=number, types=state.types)
    other.type_id, other.blind = state.type_id, state.blind
    other.recount()
    return other


@pytest.fixture
def state(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> ReviewState:
    """A review session for three families, in which a key counts immediately."""
    monkeypatch.setattr(key_actions, "MIN_SHOWN_SECONDS", 0.0)
    with writing(engine) as session:
        for text in ("The bridge is safe.", "The road is safe.", "The tunnel is safe."):
            add_family(session, text)
        ada = person(session)
        types = list_types(session)
    found = ReviewState(engine=engine, reviewer_id=ada, types=types, type_id="verbal")
    found.recount()
    return found
