"""Variants that several people decide on: their cards and messages for each of them. Quotas."""

import pytest

from curation.decisions.assignment_progress import assign
from curation.decisions.history import history
from curation.decisions.notes import add_note
from curation.decisions.quotas import set_quota
from curation.review.adjudication import contested
from curation.review.browser_window.adjudicating import AdjudicationState
from curation.review.browser_window.details import Details, details_of
from curation.review.browser_window.key_actions import ReviewState
from curation.review.discussing import mark
from curation.review.drafts import Place
from curation.review.queue import Order, Queue
from db.models import Status
from tests.curation.review.desk import Desk, E, refused
from tests.support.databases import both_databases
from tests.support.reviewing import colleague, draw, draw_same, status

FIRST = 1
"""The first card of the queue."""

Pair = tuple[ReviewState, ReviewState]


@pytest.fixture
def pair(state: ReviewState) -> Pair:
    """Ada's and Bert's windows. Two people decide on each variant."""
    return shared(state, reviewers=2)


def shared(state: ReviewState, *, reviewers: int) -> Pair:
    assign(state.engine, reviewers=reviewers, share=1)
    other = colleague(state)
    state.recount()
    return state, other


def pin(state: ReviewState, variant_id: int = FIRST) -> None:
    state.recount()
    state.pin(variant_id)


def details(state: ReviewState, *, hidden: bool) -> Details:
    focus = state.view().focus
    assert focus is not None
    return Desk(state.engine).read(details_of, state, focus, hidden=hidden)


def adjudication(state: ReviewState) -> AdjudicationState:
    desk = AdjudicationState(engine=state.engine, reviewer_id=state.reviewer_id, types=state.types)
    desk.recount()
    return desk


@pytest.mark.slow
@both_databases
def test_the_second_one_is_given_it_blind_and_both_verdicts_make_a_conflict(
    pair: Pair, desk: Desk
) -> None:
    ada, bert = pair
    first, focus = draw(ada), ada.view().focus
    assert first.variant_id == FIRST and focus is not None
    assert FIRST in ada.view().hidden  # everybody who decides on it sees the same
    assert "Several people" in desk.read(ada.why_hidden, focus.variant)
    ada.reject(first, "wrong_scope", "Narrow.")
    draw(ada)
    desk.write(add_note, FIRST, reviewer_id=ada.reviewer_id, text="Bad.")
    desk.write(mark, FIRST, reviewer_id=ada.reviewer_id, remark="I would not take it.")
    for window in (bert, adjudication(bert)):
        assert desk.read(window.hidden_ids, [FIRST]) == {FIRST}
    bert.recount()
    assert (ada.left_in(Queue.PENDING, "verbal"), bert.left_in(Queue.PENDING, "verbal")) == (2, 3)
    second = draw(bert)
    assert (second.variant_id, second.blind, second.settles) == (FIRST, True, False)
    assert bert.view().hidden == {FIRST}
    bert.accept(second)
    assert "Before you, Ada rejected it (wrong scope)." in bert.message
    assert status(ada, FIRST) is Status.CONFLICT
    assert (bert.left_in(Queue.PENDING, "verbal"), bert.left_in(Queue.CONFLICT)) == (2, 1)
    draw(ada)
    bert.pin(FIRST)
    assert bert.view().hidden == frozenset()
    assert bert.showings[FIRST].settles


@pytest.mark.slow
@both_databases
def test_verdicts_are_hidden_until_the_last_person_has_decided(
    state: ReviewState, desk: Desk
) -> None:
    ada, bert = shared(state, reviewers=3)
    cleo = colleague(state, "Cleo")
    ada.accept(draw(ada))
    pin(bert)
    bert.reject(draw(bert), "wrong_scope")
    draw(ada)
    assert "Ada" not in bert.message and "Bert" not in ada.message
    ada.pin(FIRST)
    assert FIRST in ada.view().hidden
    adjudicates = adjudication(ada)
    assert status(ada, FIRST) is Status.CONFLICT
    assert (adjudicates.view().focus, adjudicates.left_in(Queue.CONFLICT)) == (None, 0)
    assert not desk.read(contested, [desk.get(FIRST)])
    with refused("Not everybody"):
        desk.settle("Ada", FIRST)
    pin(cleo)
    cleo.accept(draw(cleo))
    assert "Before you, Ada accepted it; Bert rejected it (wrong scope)." in cleo.message
    ada.leave()
    adjudicates.recount()
    view = adjudicates.view()
    assert view.focus is not None and view.focus.variant.id == FIRST
    assert (adjudicates.left_in(Queue.CONFLICT), view.hidden) == (1, frozenset())


@pytest.mark.slow
def test_a_late_decision_is_reported_once_all_have_decided(state: ReviewState) -> None:
    ada, bert = shared(state, reviewers=3)
    cleo = colleague(state, "Cleo")
    first = draw(ada)
    theirs = draw_same(bert, first)
    ada.accept(first)
    bert.reject(theirs, "wrong_scope")
    draw(ada)
    assert "Bert" not in ada.message
    pin(cleo)
    cleo.accept(draw(cleo))
    ada.view()
    assert "Bert" in ada.message and "rejected it" in ada.message


@pytest.mark.slow
def test_an_edit_does_not_end_it_and_its_wording_is_not_shown(pair: Pair, desk: Desk) -> None:
    ada, bert = pair
    ada.edit(draw(ada), text="The bridge isn't safe.")
    assert status(ada, FIRST) is Status.SUPERSEDED
    (child,) = set(desk.standings()) - set(range(1, 22))
    bert.recount()
    bert.details = True
    assert draw(bert).variant_id == FIRST
    assert child not in {item.variant.id for item in details(bert, hidden=True).siblings}
    bert.by_family = True
    bert.restart()
    assert child not in {item.variant.id for item in bert.view().cards}
    bert.pin(FIRST)
    bert.accept(draw(bert))
    assert "Before you, Ada edited it." in bert.message
    assert status(ada, FIRST) is Status.CONFLICT
    desk.decide("Ada", 8, E)
    with refused("replaced"):  # she does not accept the old text as well
        desk.decide("Ada", 8)


@pytest.mark.slow
@both_databases
def test_taking_it_back_gives_it_to_both_again(pair: Pair, desk: Desk) -> None:
    ada, bert = pair
    ada.accept(draw(ada))
    bert.recount()
    bert.accept(draw(bert))
    assert (ada.left_in(Queue.PENDING, "verbal"), bert.left_in(Queue.PENDING, "verbal")) == (2, 2)
    bert.undo()
    assert bert.left_in(Queue.PENDING, "verbal") == 3
    assert FIRST in bert.view().hidden
    assert desk.standings()[FIRST].verdicts_by == f",{ada.reviewer_id},"
    ada.undo()
    ada.recount()
    assert (ada.left_in(Queue.PENDING, "verbal"), desk.status(FIRST)) == (3, Status.PENDING)


def test_a_correction_asks_all_of_them_again(pair: Pair, desk: Desk) -> None:
    ada, bert = pair
    ada.accept(draw(ada))
    desk.correct(FIRST)
    found = desk.standings()[FIRST]
    assert (found.status, found.second_look, found.verdicts_by) == (Status.PENDING, True, "")
    ada.pin(FIRST)
    assert FIRST in ada.view().hidden
    ada.accept(draw(ada))
    bert.recount()
    assert draw(bert).variant_id == FIRST


def test_without_an_assignment_one_decision_is_enough_and_a_later_one_asks_others(
    state: ReviewState, desk: Desk
) -> None:
    other, first = colleague(state), draw(state)
    assert state.view().hidden == frozenset()
    state.accept(first)
    assert desk.get(FIRST).verdicts_by == ""
    other.recount()
    assert draw(other).variant_id != FIRST
    other.leave()
    _, other = shared(state, reviewers=2)
    assert draw(other).variant_id == FIRST
    version = desk.get(FIRST).version
    assign(desk.engine, reviewers=2, share=0)
    assert desk.get(FIRST).version == version
    other.recount()
    other.restart()
    assert (draw(other).variant_id != FIRST, other.left_in(Queue.PENDING, "verbal")) == (True, 2)


@pytest.mark.parametrize("order", [Order.OLDEST, Order.RANDOM])
def test_it_keeps_the_order_it_had_while_pending(pair: Pair, order: Order) -> None:
    ada, bert = pair
    ada.order = bert.order = order
    bert.restart()
    before = draw(bert).variant_id
    bert.leave()
    ada.pin(before)
    ada.accept(draw(ada))
    bert.recount()
    assert draw(bert).variant_id == before


@pytest.mark.slow
def test_a_blind_card_hides_the_status_of_its_siblings(state: ReviewState) -> None:
    draw(state)
    known, blind = details(state, hidden=False), details(state, hidden=True)
    assert known.siblings and not known.hidden
    assert blind.hidden == {item.variant.id for item in blind.siblings}


# -- quotas ------------------------------------------------------------------------------------


def shares(state: ReviewState) -> list[tuple[int, int, bool]]:
    assert state.workload is not None
    return [(one.done, one.quota, one.is_reached) for one in state.workload.shares()]


@pytest.mark.slow
@both_databases
def test_a_reached_quota_closes_its_type(state: ReviewState, desk: Desk) -> None:
    desk.write(set_quota, state.reviewer_id, 2, type_id="verbal")
    state.recount()
    assert state.left_in(Queue.PENDING, "verbal") == 3
    state.accept(draw(state))
    state.reject(draw(state), "wrong_scope")
    assert state.view().focus is None
    assert state.left_in(Queue.PENDING, "verbal") == state.elsewhere == state.count_skipped() == 0
    assert state.reached(Queue.PENDING) == {"verbal"} and state.reached(Queue.CONFLICT) == set()
    state.go_to(Place(Queue.PENDING, None, None, Order.OLDEST, by_family=False))
    focus = state.view().focus
    assert focus is not None and focus.variant.type_id != "verbal"
    state.undo()
    assert (state.left_in(Queue.PENDING, "verbal"), shares(state)) == (2, [(1, 2, False)])


def test_a_quota_loses_no_decision(state: ReviewState, desk: Desk) -> None:
    desk.write(set_quota, state.reviewer_id, 1)
    state.recount()
    state.accept(draw(state))
    assert state.view().focus is None
    state.pin(8)
    state.edit(draw(state), text="It is not so.")  # an edit is one variant
    assert (status(state, 8), shares(state)) == (Status.SUPERSEDED, [(2, 1, True)])
    assert [past.verdict for past in desk.read(history, 8)] == [E]
