"""Several windows on one queue: each has its own cards, and late decisions are reported."""

from datetime import UTC, datetime
from threading import Thread

import pytest
from sqlalchemy import func, select, update
from sqlmodel import col

from curation.review.browser_window import cards_on_screen
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.selection import VariantSelection
from curation.review.queue import Order, Queue
from db.engine import reading, writing
from db.models import Decision, Lease, Status, Variant
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family
from tests.support.reviewing import colleague, draw, draw_same, status

pytestmark = both_databases


def expire(state: ReviewState) -> None:
    """Let five minutes pass."""
    with writing(state.engine) as session:
        session.execute(update(Lease).values(until=datetime(2020, 1, 1, tzinfo=UTC)))


def decide_all(state: ReviewState) -> None:
    while state.view().focus is not None:
        state.accept(draw(state))


@pytest.mark.parametrize("name", ["Bert", "Ada"])
def test_two_windows_decide_no_card_twice(state: ReviewState, name: str) -> None:
    """Windows of two reviewers, or of one."""
    with writing(state.engine) as session:
        for number in range(9):
            add_family(session, f"The bridge {number} is safe.")
    windows = state, colleague(state, name)
    for window in windows:
        window.recount()
    for _ in range(6):
        cards = [draw(window) for window in windows]
        assert cards[0].variant_id != cards[1].variant_id
        for window, card in zip(windows, cards, strict=True):
            window.accept(card)
    assert "Meanwhile" not in windows[0].message + windows[1].message
    with reading(state.engine) as session:
        query = select(func.count(), func.count(col(Decision.variant_id).distinct()))
        assert session.execute(query).one() == (12, 12)


def test_two_windows_at_the_same_moment_decide_no_card_twice(state: ReviewState) -> None:
    with writing(state.engine) as session:
        for number in range(9):
            add_family(session, f"The bridge {number} is safe.")
    windows = [state, colleague(state), colleague(state, "Ada")]
    threads = [Thread(target=decide_all, args=[window]) for window in windows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with reading(state.engine) as session:
        query = select(func.count(), func.count(col(Decision.variant_id).distinct()))
        assert session.execute(query).one() == (12, 12)


@one_database
def test_a_released_card_goes_to_the_next_window(state: ReviewState) -> None:
    first = draw(state)
    bert = colleague(state)
    assert draw(bert).variant_id != first.variant_id
    state.leave()
    cleo = colleague(state, "Cleo")
    assert draw(cleo).variant_id == first.variant_id
    assert draw(state).variant_id not in (first.variant_id, draw(bert).variant_id)


@one_database
def test_another_queue_gives_the_card_back(state: ReviewState) -> None:
    first = draw(state)
    state.go_to(queue=Queue.PENDING, type_id="lexical", order=Order.OLDEST, family=False)
    draw(state)
    assert draw(colleague_of_verbal(state)).variant_id == first.variant_id


def colleague_of_verbal(state: ReviewState) -> ReviewState:
    other = colleague(state)
    other.type_id = "verbal"
    return other


@one_database
def test_a_lease_is_renewed_while_somebody_works_and_passes_on_when_not(
    state: ReviewState, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = draw(state)
    bert = colleague(state)
    expire(state)
    monkeypatch.setattr(cards_on_screen, "RENEW_SECONDS", 0.0)
    assert draw(state).variant_id == first.variant_id  # renews the lease
    assert draw(bert).variant_id != first.variant_id
    expire(state)
    cleo = colleague(state, "Cleo")
    assert draw(cleo).variant_id == first.variant_id
    assert draw(state).variant_id == first.variant_id  # it stays, and says who has it now
    assert "Cleo also has this card on screen." in state.message


@one_database
def test_a_late_decision_is_stored_and_both_people_get_a_message(state: ReviewState) -> None:
    mine = draw(state)
    bert = colleague(state)
    expire(state)
    theirs = draw(bert)
    assert theirs.variant_id == mine.variant_id
    state.reject(mine, "wrong_scope")
    assert "Bert also has this card on screen." in state.message
    bert.accept(theirs)
    assert (
        "Meanwhile, Ada had rejected it (wrong scope). Both decisions are stored." in bert.message
    )
    assert status(state, mine.variant_id) == Status.CONFLICT
    draw(state)
    sentence = (
        "Bert also had “The bridge is not safe.” on screen and accepted it after you. "
        "It is now in conflict."
    )
    assert sentence in state.message
    state.toggle_details()
    state.say("")
    draw(state)
    assert state.message == ""  # once is enough


@one_database
def test_a_redraw_says_that_the_card_was_decided_meanwhile(state: ReviewState) -> None:
    mine = draw(state)
    bert = colleague(state)
    bert.accept(draw_same(bert, mine))
    assert draw(state).variant_id == mine.variant_id
    assert "Meanwhile, Bert accepted it." in state.message


@one_database
def test_in_blind_mode_a_redraw_says_who_decided_and_not_what(state: ReviewState) -> None:
    state.blind = True
    mine = draw(state)
    bert = colleague(state)
    bert.accept(draw_same(bert, mine))
    draw(state)
    assert "Meanwhile, Bert decided on this variant." in state.message
    assert "accepted" not in state.message


@one_database
def test_a_permalink_says_who_has_the_card(state: ReviewState) -> None:
    first = draw(state)
    bert = colleague(state)
    draw_same(bert, first)
    assert bert.message == "Ada also has this card on screen."
    second = colleague(state, "Ada")
    draw_same(second, first)
    assert second.message == "This card is also on screen in another of your windows."


@one_database
def test_cards_on_other_screens_are_counted(state: ReviewState) -> None:
    draw(state)
    bert = colleague(state)
    cleo = colleague(state, "Cleo")
    draw(bert)
    draw(cleo)
    late = colleague(state, "Dora")
    assert late.view().focus is None
    assert late.elsewhere == 3
    late.take(VariantSelection((state.focus_id or 0,), "one"))
    assert late.view().focus is None
    assert late.elsewhere == 1
    state.leave()
    assert late.view().focus is not None


@one_database
def test_a_family_is_one_windows_alone(state: ReviewState) -> None:
    state.by_family = True
    mine = draw(state)
    single = colleague(state)
    single.type_id = "lexical"
    with reading(state.engine) as session:
        anchors = {
            session.get_one(Variant, draw(window).variant_id).anchor_id
            for window in (state, single)
        }
        own = session.get_one(Variant, mine.variant_id).anchor_id
    assert len(anchors) == 2
    other = colleague(state, "Cleo")
    other.by_family = True
    with reading(state.engine) as session:
        theirs = session.get_one(Variant, draw(other).variant_id).anchor_id
    assert theirs not in anchors | {own}
    state.accept(mine)
    assert draw(state).variant_id in {c.variant.id for c in state.view().cards}
