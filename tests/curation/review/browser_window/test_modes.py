"""Blind mode, permalinks, second looks, selections, and two windows on one variant."""

import pytest
from sqlalchemy import event, select

from curation.anchors.changes import correct_anchor
from curation.corpora.corpus import CORPORA
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.messages import OUTDATED
from curation.review.browser_window.selection import VariantSelection
from curation.review.history import history
from curation.review.queue import Order, Queue
from db.engine import reading, writing
from db.models import Status, Variant
from tests.support.factories import add_family
from tests.support.reviewing import VERBAL, colleague, draw, draw_same, status


def test_a_colleagues_decision_is_reported(state: ReviewState) -> None:
    other = colleague(state)
    mine = draw(state)
    theirs = draw_same(other, mine)
    other.accept(theirs)
    state.accept(mine)
    assert "Meanwhile, Bert had accepted it. Both decisions are stored." in state.message


def test_your_own_decision_in_another_window_is_reported_without_a_name(state: ReviewState) -> None:
    state.recount()
    other = colleague(state, "Ada")
    mine = draw(state)
    theirs = draw_same(other, mine)
    other.reject(theirs, "wrong_type")
    state.accept(mine)
    assert "you had rejected it (wrong type) in another window" in state.message
    assert "Ada" not in state.message


def test_blind_mode_shows_others_verdicts_only_after_the_own_one(state: ReviewState) -> None:
    card = draw(state)
    first = card.variant_id
    state.blind = True
    other = colleague(state)
    other.reject(draw_same(other, card), "wrong_scope")
    state.pin(first)
    view = state.view()
    assert first in view.hidden
    state.accept(draw(state))
    assert "Before you, Bert rejected it (wrong scope)." in state.message
    state.pin(first)
    assert state.view().hidden == frozenset()
    with reading(state.engine) as session:
        assert [d.blind for d in history(session, first)] == [True, True]
    state.undo()
    assert first in state.view().hidden


def test_blind_mode_does_not_use_an_order_that_reveals_the_diagnostics(state: ReviewState) -> None:
    with writing(state.engine) as session:
        for variant in session.execute(select(Variant)).scalars():
            variant.suspicion = variant.id / 100
            variant.random_key = variant.id % 10 / 10
    state.order = Order.SUSPICIOUS
    suspicious = draw(state).variant_id
    state.restart()
    state.toggle_blind()
    with reading(state.engine) as session:
        ids = [v.id for v in session.execute(VERBAL).scalars()]
    assert suspicious == max(ids)
    assert draw(state).variant_id == min(ids, key=lambda number: (number % 10, number))


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


def test_a_permalink_shows_its_card_and_the_queue_continues_after_it(state: ReviewState) -> None:
    first = draw(state)
    state.accept(first)
    with reading(state.engine) as session:
        uid = session.get_one(Variant, first.variant_id).uid
    state.open_link(uid)
    again = draw(state)
    assert again.variant_id == first.variant_id
    state.reject(again, "wrong_type")
    assert draw(state).variant_id != first.variant_id
    state.open_link("no such\nuid")
    assert "There is no variant" in state.message
    assert state.view().focus is not None


def test_a_corrected_anchor_brings_its_variants_back(state: ReviewState) -> None:
    card = draw(state)
    state.accept(card)
    with writing(state.engine) as session:
        correct_anchor(
            session,
            session.get_one(Variant, card.variant_id).anchor_id,
            "The bridges are safe.",
            reviewer_id=state.reviewer_id,
            expected_revision=1,
        )
    state.recount()
    assert state.left_in(Queue.SECOND_LOOK) == 1
    state.go_to(queue=Queue.SECOND_LOOK, type_id=None, order=Order.OLDEST, family=False)
    again = draw(state)
    assert again.variant_id == card.variant_id
    state.accept(again)
    assert state.left_in(Queue.SECOND_LOOK) == 0
    assert state.view().focus is None


def test_a_card_whose_anchor_is_corrected_meanwhile_says_so(state: ReviewState) -> None:
    card = draw(state)
    with writing(state.engine) as session:
        correct_anchor(
            session,
            session.get_one(Variant, card.variant_id).anchor_id,
            "The bridges are safe.",
            reviewer_id=state.reviewer_id,
            expected_revision=1,
        )
    state.accept(card)
    assert state.message == f"Accepted: “The bridge is not safe.” {OUTDATED}"


def test_a_selection_is_reviewed_in_its_order(state: ReviewState) -> None:
    with reading(state.engine) as session:
        ids = [v.id for v in session.execute(VERBAL).scalars()][::-1]
    state.take(VariantSelection(tuple(ids), "a brush"))
    assert state.selection is not None
    seen = []
    for _ in ids:
        seen.append(draw(state))
        state.accept(seen[-1])
    assert [card.variant_id for card in seen] == ids
    assert state.view().focus is None
    assert state.selection.open == set()
    state.undo()
    assert state.selection.open == {ids[-1]}
    state.take(None)
    assert draw(state).variant_id == ids[-1]


def test_a_selection_skips_variants_that_a_colleague_has_decided(state: ReviewState) -> None:
    with reading(state.engine) as session:
        ids = [v.id for v in session.execute(VERBAL).scalars()]
    state.take(VariantSelection(tuple(ids), "a brush"))
    other = colleague(state)
    other.accept(draw(other))
    other.leave()
    assert draw(state).variant_id == ids[1]
    assert state.selection is not None
    assert len(state.selection.open or ()) == 2


@pytest.mark.slow
def test_ten_thousand_picked_variants_cost_no_more_a_key_than_ten(state: ReviewState) -> None:
    """Ids are looked up a few at a time, however long the selection is."""
    first = draw(state).variant_id
    statements: list[str] = []
    state.take(VariantSelection((first, *range(10_000, 20_000)), "a brush"))

    def count(*args: object) -> None:
        statements.append(str(args[2]))

    event.listen(state.engine, "before_cursor_execute", count)
    state.accept(draw(state))
    state.view()
    event.remove(state.engine, "before_cursor_execute", count)
    assert len([s for s in statements if s.startswith("SELECT")]) < 30


CORPUS = CORPORA["claims"].source


def test_one_source_can_be_reviewed_and_its_counts_add_up(state: ReviewState) -> None:
    with writing(state.engine) as session:
        add_family(session, "The door is safe.", source=CORPUS)
        add_family(session, "The lift is safe.", source=CORPUS)
    state.recount()
    (own, name), (corpus, its_name) = state.sources.items()
    assert (name, its_name) == ("test", CORPUS)
    numbers = [state.left_of(key, Queue.PENDING, "verbal") for key in (None, own, corpus)]
    assert numbers == [5, 3, 2]
    state.go_to(
        queue=Queue.PENDING, type_id="verbal", source_id=corpus, order=Order.OLDEST, family=False
    )
    assert state.left_in(Queue.PENDING, "verbal") == 2
    assert state.counts["verbal"][Status.PENDING] == 2
    for _ in range(2):
        card = draw(state)
        with reading(state.engine) as session:
            assert session.get_one(Variant, card.variant_id).source_id == corpus
        state.accept(card)
    assert state.view().focus is None
    assert state.left_in(Queue.PENDING, "verbal") == 0
    assert state.left_of(None, Queue.PENDING, "verbal") == 3
    assert state.counts["verbal"][Status.ACCEPTED] == 2
    counted = (state.counts, state.left)
    state.recount()
    assert state.counts == counted[0]
    assert [+left for left in state.left.values()] == [+left for left in counted[1].values()]


def test_a_decision_of_another_source_leaves_the_counts_of_this_one(state: ReviewState) -> None:
    with writing(state.engine) as session:
        other = add_family(session, "The door is safe.", source=CORPUS)["verbal"].id
    state.recount()
    own = next(iter(state.sources))
    state.go_to(
        queue=Queue.PENDING, type_id="verbal", source_id=own, order=Order.OLDEST, family=False
    )
    state.pin(other)
    state.accept(draw(state))
    assert (state.left_in(Queue.PENDING, "verbal"), state.counts["verbal"][Status.PENDING]) == (
        3,
        3,
    )
    assert state.left_of(None, Queue.PENDING, "verbal") == 3


@pytest.mark.parametrize("by_family", [False, True])
def test_own_anchors_come_before_those_of_a_corpus_in_both_views(
    state: ReviewState, by_family: bool
) -> None:
    with writing(state.engine) as session:
        for variant in session.execute(select(Variant)).scalars():
            variant.retired = True
        add_family(session, "The door is safe.", source=CORPUS)
        mine = add_family(session, "The lift is safe.")["verbal"].id
    state.by_family = by_family
    assert draw(state).variant_id == mine
