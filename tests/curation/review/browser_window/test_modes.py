"""Blind mode, permalinks, second looks, selections, and one source."""

import pytest

from curation.corpora.corpus import CORPORA
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.messages import OUTDATED
from curation.review.browser_window.selection import VariantSelection
from curation.review.history import history
from curation.review.queue import Order, Queue
from db.models import Status
from tests.curation.review.desk import Desk, statements
from tests.support.reviewing import colleague, draw, draw_same, status

CORPUS = CORPORA["claims"].source


def go_to(state: ReviewState, source_id: int | None = None, queue: Queue = Queue.PENDING) -> None:
    of = None if queue is Queue.SECOND_LOOK else "verbal"
    state.go_to(queue=queue, type_id=of, source_id=source_id, order=Order.OLDEST, family=False)


@pytest.mark.slow
def test_blind_mode_shows_others_verdicts_only_after_the_own_one(
    state: ReviewState, desk: Desk
) -> None:
    card = draw(state)
    first = card.variant_id
    state.blind = True
    other = colleague(state)
    other.reject(draw_same(other, card), "wrong_scope")
    state.pin(first)
    assert first in state.view().hidden
    state.accept(draw(state))
    assert "Before you, Bert rejected it (wrong scope)." in state.message
    state.pin(first)
    assert state.view().hidden == frozenset()
    assert [d.blind for d in desk.read(history, first)] == [True, True]
    state.undo()
    assert first in state.view().hidden


def test_blind_mode_does_not_use_an_order_that_reveals_the_diagnostics(
    state: ReviewState, desk: Desk
) -> None:
    for variant_id in (1, 8, 15):
        desk.change(variant_id, suspicion=variant_id / 100, random_key=abs(variant_id - 8) / 100)
    state.order = Order.SUSPICIOUS
    assert draw(state).variant_id == 15
    state.restart()
    state.toggle_blind()
    assert draw(state).variant_id == 8


def test_blind_mode_hides_the_family_except_for_decided_variants(state: ReviewState) -> None:
    state.by_family = state.blind = True
    card = draw(state)
    state.accept(card)
    view = state.view()
    assert view.hidden == {c.variant.id for c in view.cards} - {card.variant_id}


def test_turning_blind_renews_the_showing(state: ReviewState) -> None:
    """A variant that was seen with its diagnostics is not decided blindly, and vice versa."""
    before = draw(state)
    state.toggle_blind()
    after = draw(state)
    assert (before.blind, after.blind) == (False, True)
    state.accept(before)
    assert status(state, before.variant_id) == Status.PENDING


def test_a_permalink_shows_its_card_and_the_queue_continues_after_it(
    state: ReviewState, desk: Desk
) -> None:
    state.accept(draw(state))
    state.open_link(desk.uid(1))
    again = draw(state)
    assert again.variant_id == 1
    state.reject(again, "wrong_type")
    assert draw(state).variant_id == 8
    state.open_link("no such\nuid")
    assert "no such" in state.message
    assert state.view().focus is not None


def test_a_corrected_anchor_brings_its_variants_back(state: ReviewState, desk: Desk) -> None:
    state.accept(draw(state))
    desk.correct(1)
    state.recount()
    assert state.left_in(Queue.SECOND_LOOK) == 1
    go_to(state, queue=Queue.SECOND_LOOK)
    again = draw(state)
    assert again.variant_id == 1
    state.accept(again)
    assert (state.left_in(Queue.SECOND_LOOK), state.view().focus) == (0, None)


def test_a_card_whose_anchor_is_corrected_meanwhile_says_so(state: ReviewState, desk: Desk) -> None:
    card = draw(state)
    desk.correct(1)
    state.accept(card)
    assert state.message.endswith(OUTDATED)
    assert desk.standings()[1].second_look


@pytest.mark.slow
def test_a_selection_is_reviewed_in_its_order(state: ReviewState) -> None:
    state.take(VariantSelection((15, 8, 1), "a brush"))
    assert state.selection is not None
    for variant_id in (15, 8, 1):
        card = draw(state)
        assert card.variant_id == variant_id
        state.accept(card)
    assert (state.view().focus, state.selection.open) == (None, set())
    state.undo()
    assert state.selection.open == {1}
    state.take(None)
    assert draw(state).variant_id == 1


def test_a_selection_skips_variants_that_a_colleague_has_decided(state: ReviewState) -> None:
    state.take(VariantSelection((1, 8, 15), "a brush"))
    other = colleague(state)
    other.accept(draw(other))
    other.leave()
    assert draw(state).variant_id == 8
    assert state.selection is not None and state.selection.open == {8, 15}


@pytest.mark.slow
def test_ten_thousand_picked_variants_cost_no_more_a_key_than_ten(state: ReviewState) -> None:
    """Ids are looked up a few at a time, however long the selection is."""
    state.take(VariantSelection((1, *range(10_000, 20_000)), "a brush"))
    card = draw(state)
    with statements(state.engine) as made:
        state.accept(card)
        state.view()
    assert len([one for one, _ in made if one.startswith("SELECT")]) < 30


def test_one_source_can_be_reviewed_and_its_counts_add_up(state: ReviewState, desk: Desk) -> None:
    theirs = [desk.family(f"The {name} is safe.", source=CORPUS)["verbal"] for name in "ab"]
    state.recount()
    (own, name), (corpus, its_name) = state.sources.items()
    assert (name, its_name) == ("test", CORPUS)
    assert state.left_of(None, Queue.PENDING, "verbal") == 5
    for source_id, ids in ((corpus, theirs), (own, [1, 8, 15])):
        number = len(ids)
        go_to(state, source_id)
        assert state.left_of(source_id, Queue.PENDING, "verbal") == number
        assert state.left_in(Queue.PENDING, "verbal") == number
        assert state.counts["verbal"][Status.PENDING] == number
    state.pin(theirs[0])  # of the other source, so the counts of this one stay
    state.accept(draw(state))
    assert (state.left_in(Queue.PENDING, "verbal"), state.counts["verbal"][Status.PENDING]) == (
        3,
        3,
    )
    assert state.left_of(None, Queue.PENDING, "verbal") == 4
    go_to(state, corpus)
    card = draw(state)
    assert card.variant_id == theirs[1]
    state.accept(card)
    assert state.view().focus is None
    assert state.left_in(Queue.PENDING, "verbal") == 0
    assert state.left_of(None, Queue.PENDING, "verbal") == 3
    assert state.counts["verbal"][Status.ACCEPTED] == 2
    counts, left = state.counts, [+number for number in state.left.values()]
    state.recount()
    assert (state.counts, [+number for number in state.left.values()]) == (counts, left)


@pytest.mark.parametrize("by_family", [False, True])
def test_own_anchors_come_before_those_of_a_corpus_in_both_views(
    state: ReviewState, desk: Desk, by_family: bool
) -> None:
    desk.change(retired=True)
    desk.family("The door is safe.", source=CORPUS)
    mine = desk.family("The lift is safe.")["verbal"]
    state.by_family = by_family
    assert draw(state).variant_id == mine
