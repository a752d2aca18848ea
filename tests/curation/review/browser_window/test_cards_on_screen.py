"""Several windows on one queue: each has its own cards, and late decisions are reported."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from curation.review.browser_window import cards_on_screen
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.selection import VariantSelection
from curation.review.queue import Order, Queue
from db.models import Decision, Status
from tests.curation.review.desk import Desk
from tests.support.databases import both_databases
from tests.support.reviewing import colleague, draw, draw_same, status


def shows(state: ReviewState) -> int:
    return draw(state).variant_id


def decided(desk: Desk) -> list[int]:
    return sorted(row.variant_id for row in desk.rows(Decision))


@pytest.mark.slow
@both_databases
@pytest.mark.parametrize("name", ["Bert", "Ada"])
def test_two_windows_decide_no_card_twice(state: ReviewState, desk: Desk, name: str) -> None:
    """Windows of two reviewers, or of one."""
    windows = state, colleague(state, name)
    desk.families(5)
    for window in windows:
        window.recount()
    for _ in range(4):
        cards = [draw(window) for window in windows]
        assert cards[0].variant_id != cards[1].variant_id
        for window, card in zip(windows, cards, strict=True):
            window.accept(card)
            assert "Ada" not in window.message and "Bert" not in window.message
    assert decided(desk) == [7 * number + 1 for number in range(8)]


@pytest.mark.slow
@both_databases
def test_two_windows_at_the_same_moment_decide_no_card_twice(
    state: ReviewState, desk: Desk
) -> None:
    def decide_all(window: ReviewState) -> None:
        while window.view().focus is not None:
            window.accept(draw(window))

    desk.families(6)
    windows = [state, colleague(state), colleague(state, "Ada")]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(decide_all, windows))
    assert decided(desk) == [7 * number + 1 for number in range(9)]


def test_another_queue_gives_the_card_back(state: ReviewState) -> None:
    first = shows(state)
    state.go_to(queue=Queue.PENDING, type_id="lexical", order=Order.OLDEST, family=False)
    draw(state)
    other = colleague(state)
    other.type_id = "verbal"
    assert shows(other) == first


@pytest.mark.slow
@both_databases
def test_a_lease_is_renewed_while_somebody_works_and_passes_on_when_not(
    state: ReviewState, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, bert = shows(state), colleague(state)
    desk.let_leases_expire()
    monkeypatch.setattr(cards_on_screen, "RENEW_SECONDS", 0.0)
    assert shows(state) == first  # renews the lease
    assert shows(bert) != first
    desk.let_leases_expire()
    assert shows(colleague(state, "Cleo")) == first
    assert shows(state) == first  # it stays, and says who has it now
    assert "Cleo" in state.message


@both_databases
def test_a_late_decision_is_stored_and_both_people_get_a_message(
    state: ReviewState, desk: Desk
) -> None:
    mine, bert = draw(state), colleague(state)
    desk.let_leases_expire()
    theirs = draw(bert)
    assert theirs.variant_id == mine.variant_id
    state.reject(mine, "wrong_scope")
    assert "Bert also" in state.message
    bert.accept(theirs)
    assert "Ada had rejected it (wrong scope)" in bert.message
    assert status(state, mine.variant_id) == Status.CONFLICT
    draw(state)
    for fact in ("Bert also", "The bridge is not safe.", "accepted it after you", "in conflict"):
        assert fact in state.message
    state.toggle_details()
    state.say("")
    draw(state)
    assert state.message == ""  # once is enough


@pytest.mark.parametrize("blind", [False, True])
def test_a_redraw_says_that_the_card_was_decided_meanwhile(state: ReviewState, blind: bool) -> None:
    """In blind mode, who decided and not what."""
    state.blind = blind
    mine, bert = draw(state), colleague(state)
    bert.accept(draw_same(bert, mine))
    assert shows(state) == mine.variant_id
    assert "Meanwhile, Bert" in state.message
    assert ("accepted" in state.message) is not blind


@pytest.mark.parametrize(("name", "said"), [("Bert", "Bert had rejected"), ("Ada", "you had")])
def test_a_decision_in_another_window_is_reported(state: ReviewState, name: str, said: str) -> None:
    other, mine = colleague(state, name), draw(state)
    other.reject(draw_same(other, mine), "wrong_type")
    state.accept(mine)
    assert said in state.message and "Ada" not in state.message


def test_a_permalink_says_who_has_the_card(state: ReviewState) -> None:
    first = draw(state)
    for name, said in (("Bert", "Ada also"), ("Ada", "another of your windows")):
        other = colleague(state, name)
        draw_same(other, first)
        assert said in other.message


def test_cards_on_other_screens_are_counted(state: ReviewState) -> None:
    for window in (state, colleague(state), colleague(state, "Cleo")):
        draw(window)
    late = colleague(state, "Dora")
    assert (late.view().focus, late.elsewhere) == (None, 3)
    late.take(VariantSelection((state.focus_id or 0,), "one"))
    assert (late.view().focus, late.elsewhere) == (None, 1)
    state.leave()
    assert late.view().focus is not None


@pytest.mark.slow
@both_databases
def test_a_family_is_one_windows_alone(state: ReviewState) -> None:
    state.by_family = True
    mine, single, other = draw(state), colleague(state), colleague(state, "Cleo")
    single.type_id, other.by_family = "lexical", True
    shown = [mine.variant_id, shows(single), shows(other)]
    assert sorted((variant_id - 1) // 7 for variant_id in shown) == [0, 1, 2]
    state.accept(mine)
    assert shows(state) in {card.variant.id for card in state.view().cards}
