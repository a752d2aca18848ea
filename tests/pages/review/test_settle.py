"""Settling conflicts on the review page."""

import pytest
from sqlalchemy import select
from sqlmodel import col

from curation.review.browser_window import messages
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.selection import VariantSelection
from curation.review.history import history
from curation.review.queue import Order, Queue
from db.engine import reading
from db.models import Decision, Status
from pages.components.review.panels import history_lines
from tests.support.reviewing import colleague, draw, draw_same, status


@pytest.fixture
def conflict(state: ReviewState) -> int:
    """A variant that Bert accepted and Cleo rejected, and both before Ada's queue of conflicts."""
    bert, cleo = colleague(state), colleague(state, "Cleo")
    card = draw(bert)
    late = draw_same(cleo, card)
    bert.accept(card)
    cleo.reject(late, "wrong_scope")
    bert.leave()
    cleo.leave()
    state.recount()
    state.go_to(queue=Queue.CONFLICT, type_id=None, order=Order.OLDEST, family=False)
    return card.variant_id


def adjudicates(state: ReviewState) -> list[bool]:
    with reading(state.engine) as session:
        query = select(col(Decision.adjudicates)).order_by(col(Decision.id))
        return list(session.execute(query).scalars())


def test_accepting_a_card_in_conflict_settles_it_and_undo_brings_it_back(
    state: ReviewState, conflict: int
) -> None:
    card = draw(state)
    assert (card.variant_id, card.settles) == (conflict, True)
    state.accept(card)
    assert status(state, conflict) == Status.ACCEPTED
    assert state.message == "Settled as accepted: “The bridge is not safe.” Press Z to undo."
    assert state.left_in(Queue.CONFLICT) == 0
    assert state.view().focus is None
    state.undo()
    assert status(state, conflict) == Status.CONFLICT
    assert draw(state).settles
    assert state.left_in(Queue.CONFLICT) == 1


def test_a_reason_settles_it_as_rejected_and_a_pending_card_is_only_decided(
    state: ReviewState, conflict: int
) -> None:
    state.reject(draw(state), "wrong_scope")
    assert state.message.startswith("Settled as rejected (wrong scope): “The bridge is not safe.”")
    assert status(state, conflict) == Status.REJECTED
    state.go_to(queue=Queue.PENDING, type_id="verbal", order=Order.OLDEST, family=False)
    card = draw(state)
    assert not card.settles
    state.accept(card)
    assert adjudicates(state) == [False, False, True, False]


def test_a_later_decision_on_a_settled_card_settles_it_again(
    state: ReviewState, conflict: int
) -> None:
    state.accept(draw(state))
    bert = colleague(state)
    bert.pin(conflict)
    card = draw(bert)
    assert card.settles
    bert.reject(card, "wrong_scope")
    assert status(state, conflict) == Status.REJECTED


def test_blind_mode_hides_a_conflict_but_not_from_who_settles_it(
    state: ReviewState, conflict: int
) -> None:
    state.blind = True
    assert draw(state).settles
    assert not state.view().hidden
    state.go_to(queue=Queue.PENDING, type_id="verbal", order=Order.OLDEST, family=False)
    state.pin(conflict)
    card = draw(state)
    assert (card.blind, card.settles) == (True, False)
    state.accept(card)
    assert status(state, conflict) == Status.CONFLICT


def test_a_selection_shows_the_card_in_conflict(state: ReviewState, conflict: int) -> None:
    state.take(VariantSelection((conflict,), "conflicts"))
    card = draw(state)
    assert (card.variant_id, card.settles) == (conflict, True)
    state.accept(card)
    assert state.view().focus is None


def test_the_card_says_who_said_what(state: ReviewState, conflict: int) -> None:
    with reading(state.engine) as session:
        sentence = messages.disagreement(history(session, conflict), Status.CONFLICT)
    assert sentence == (
        "In conflict. Bert accepted it. Cleo rejected it (wrong scope). "
        "Your decision settles the conflict."
    )
    state.accept(draw(state))
    with reading(state.engine) as session:
        past = history(session, conflict)
    assert "Ada settled it as accepted" in messages.disagreement(past, Status.ACCEPTED)
    assert "settled: accept" in history_lines.line(past[-1])


def test_a_family_continues_with_variants_of_the_queue(state: ReviewState, conflict: int) -> None:
    state.go_to(queue=Queue.CONFLICT, type_id=None, order=Order.OLDEST, family=True)
    state.accept(draw(state))
    assert state.view().focus is None
