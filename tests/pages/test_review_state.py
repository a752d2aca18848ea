"""What the keys do in a review session, without a browser."""

import pytest
from sqlalchemy import Engine

from curation.types import list_types
from db.engine import reading, writing
from db.models import Status, Variant
from pages.components import review_state
from pages.components.review_place import Panel
from pages.components.review_state import ReviewState
from tests.factories import add_family, person


@pytest.fixture
def state(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> ReviewState:
    monkeypatch.setattr(review_state, "MIN_SHOWN_SECONDS", 0.0)
    with writing(engine) as session:
        for text in ("The bridge is safe.", "The road is safe.", "The tunnel is safe."):
            add_family(session, text)
        ada = person(session)
        types = list_types(session)
    found = ReviewState(engine=engine, reviewer_id=ada, types=types, type_id="verbal")
    found.recount()
    return found


def draw(state: ReviewState) -> review_state.Shown:
    """Draw the page; what the keys mean now."""
    view = state.view()
    state.drawn_now()
    assert view.focus is not None
    return state.showings[view.focus.variant.id or 0]


def status(state: ReviewState, variant_id: int) -> Status:
    with reading(state.engine) as session:
        return session.get_one(Variant, variant_id).status


def test_accepting_goes_on_with_the_next(state: ReviewState) -> None:
    first = draw(state)
    state.accept(first)
    second = draw(state)
    assert second.variant_id != first.variant_id
    assert status(state, first.variant_id) == Status.ACCEPTED
    assert state.pending("verbal") == 2
    assert state.message == "Accepted. Z takes it back."


def test_a_key_for_a_card_that_is_gone_does_nothing(state: ReviewState) -> None:
    first = draw(state)
    state.accept(first)
    second = draw(state)
    state.reject(first, "wrong_type")
    assert status(state, first.variant_id) == Status.ACCEPTED
    assert status(state, second.variant_id) == Status.PENDING


def test_a_key_within_the_first_moment_of_a_card_does_nothing(
    state: ReviewState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review_state, "MIN_SHOWN_SECONDS", 60.0)
    first = draw(state)
    state.accept(first)
    state.skip(first)
    assert status(state, first.variant_id) == Status.PENDING
    assert draw(state) == first


def test_a_card_never_drawn_takes_no_key(state: ReviewState) -> None:
    view = state.view()
    assert view.focus is not None
    state.accept(state.showings[view.focus.variant.id or 0])
    assert state.pending("verbal") == 3


def test_redrawing_does_not_make_it_another_showing(state: ReviewState) -> None:
    first = draw(state)
    state.toggle(Panel.KEYS)
    assert draw(state) == first


def test_a_late_key_decides_nothing_while_an_editor_is_open(state: ReviewState) -> None:
    """The browser takes a moment to forget the keys of the buttons that an editor replaces."""
    card = draw(state)
    state.toggle(Panel.EDIT)
    state.accept(card)
    state.reject_at_once(card, "wrong_type")
    state.reject_family(card)
    state.skip(card)
    state.undo()
    assert status(state, card.variant_id) == Status.PENDING
    assert draw(state) == card
    assert state.panel is Panel.EDIT
    state.edit(card, text="The bridge isn't safe.")
    assert status(state, card.variant_id) == Status.SUPERSEDED


def test_undo_shows_the_card_again(state: ReviewState) -> None:
    first = draw(state)
    state.accept(first)
    draw(state)
    state.undo()
    assert draw(state).variant_id == first.variant_id
    assert state.pending("verbal") == 3
    assert state.message == "Took back: accept."
    state.undo()
    assert state.message == "There is nothing left to take back."


def test_skipping_leaves_it_pending_and_out_of_the_queue(state: ReviewState) -> None:
    for _ in range(3):
        state.skip(draw(state))
    assert state.view().focus is None
    assert len(state.skipped) == 3
    assert state.pending("verbal") == 3


def test_an_edit_is_counted_once(state: ReviewState) -> None:
    card = draw(state)
    state.edit(card, text="The bridge isn't safe.")
    assert state.edited == 1
    assert state.counts["verbal"] == {
        Status.PENDING: 2, Status.ACCEPTED: 1, Status.REJECTED: 0,
        Status.CONFLICT: 0, Status.SUPERSEDED: 1,
    }  # fmt: skip


def test_what_is_wrong_with_an_edit_is_said_and_the_panel_stays(state: ReviewState) -> None:
    card = draw(state)
    state.toggle(Panel.EDIT)
    state.edit(card, text="   ")
    assert "Expected a text of 1 to 2000 characters" in state.message
    assert state.warn
    assert state.panel is Panel.EDIT
    assert state.edited == 0
    assert status(state, card.variant_id) == Status.PENDING


def test_a_family_is_gone_through_before_the_next_one(state: ReviewState) -> None:
    state.by_family = True
    seen = []
    for _ in range(7):
        card = draw(state)
        seen.append(card.variant_id)
        state.accept(card)
    with reading(state.engine) as session:
        anchors = {session.get_one(Variant, i).anchor_id for i in seen}
    assert len(set(seen)) == 7
    assert len(anchors) == 1
    with reading(state.engine) as session:
        after = session.get_one(Variant, draw(state).variant_id)
    assert after.anchor_id not in anchors


def test_any_card_of_a_family_can_be_decided(state: ReviewState) -> None:
    state.by_family = True
    first = draw(state)
    third = list(state.showings.values())[2]
    state.accept(third)
    assert status(state, third.variant_id) == Status.ACCEPTED
    assert draw(state).variant_id == first.variant_id


def test_the_keys_move_through_a_family(state: ReviewState) -> None:
    state.by_family = True
    first = draw(state)
    state.step(first, 1)
    second = draw(state)
    assert second.variant_id != first.variant_id
    state.step(second, -1)
    assert draw(state) == first


def test_rejecting_a_family_goes_on_with_another_anchor(state: ReviewState) -> None:
    first = draw(state)
    state.reject_family(first)
    assert state.pending("word") == 2
    with reading(state.engine) as session:
        one = session.get_one(Variant, first.variant_id).anchor_id
        other = session.get_one(Variant, draw(state).variant_id).anchor_id
    assert one != other


def test_a_colleagues_decision_is_told(state: ReviewState) -> None:
    with writing(state.engine) as session:
        bert = person(session, "Bert")
    other = ReviewState(engine=state.engine, reviewer_id=bert, types=state.types, type_id="verbal")
    mine, theirs = draw(state), draw(other)
    assert mine.variant_id == theirs.variant_id
    other.accept(theirs)
    state.accept(mine)
    assert "Meanwhile Bert had accepted it; both decisions are kept." in state.message
