"""Blind mode, permalinks, second looks, selections and one source; gold items and calibration
samples."""

from itertools import pairwise

import pytest

from curation.corpora.corpus import CORPORA
from curation.decisions.history import history
from curation.decisions.notes import add_note
from curation.diagnostics.opinions import show_opinions
from curation.project.settings import GOLD_RATE, put_setting
from curation.review.browser_window.details import Details, details_of
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.messages import OUTDATED
from curation.review.browser_window.selection import VariantSelection, sample_selection
from curation.review.calibration.sample import SampleRequest, address_name
from curation.review.cards import Card
from curation.review.discussing import mark as mark_to_discuss
from curation.review.drafts import Place
from curation.review.gold import items, mixing
from curation.review.queue import Order, Queue
from db.engine import writing
from db.models import Decision, GoldUse, Status
from tests.curation.review.desk import A, Desk, R, refused, statements
from tests.support.databases import both_databases
from tests.support.factories import add_family, draw_sample, judge, person
from tests.support.reviewing import colleague, draw, draw_same, status

CORPUS = CORPORA["claims"].source


def go_to(state: ReviewState, source_id: int | None = None, queue: Queue = Queue.PENDING) -> None:
    of = None if queue is Queue.SECOND_LOOK else "verbal"
    state.go_to(Place(queue, of, source_id, Order.OLDEST, by_family=False))


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


GOLD = 15
"""The last verbal variant."""


@pytest.fixture
def gold(state: ReviewState, desk: Desk) -> ReviewState:
    """Lena has created a gold item of the type under review. Every card is gold."""
    lena = desk.who("Lena")
    desk.write(put_setting, GOLD_RATE, 1)
    desk.write(add_note, GOLD, reviewer_id=lena, text="A secret.")
    desk.write(items.mark, desk.uid(GOLD), R, reviewer_id=lena, reason="wrong_scope")
    desk.write(mark_to_discuss, GOLD, reviewer_id=lena, remark="Another secret.")
    state.recount()
    return state


def focus(state: ReviewState) -> Card:
    found = state.view().focus
    assert found is not None
    return found


def details(state: ReviewState) -> Details:
    return Desk(state.engine).read(details_of, state, focus(state), hidden=False)


@pytest.mark.slow
@both_databases
def test_a_gold_item_comes_like_a_pending_card_and_is_decided_like_one(
    gold: ReviewState, desk: Desk
) -> None:
    left = gold.left_in(Queue.PENDING, "verbal")
    card = draw(gold)
    assert (card.variant_id, card.settles, card.blind) == (GOLD, False, False)
    assert gold.view().hidden == frozenset()
    assert (focus(gold).variant.status, focus(gold).notes) == (Status.PENDING, 0)
    gold.accept(card)
    assert "Lena" not in gold.message and gold.left_in(Queue.PENDING, "verbal") == left - 1
    rows = [row for row in desk.rows(Decision) if row.variant_id == GOLD]
    assert [(row.verdict, row.adjudicates, row.blind) for row in rows] == [
        (R, True, False),
        (A, False, True),
    ]
    assert status(gold, GOLD) is Status.REJECTED
    assert draw(gold).variant_id != GOLD  # once


@pytest.mark.slow
def test_an_undo_shows_it_as_a_pending_card_again(gold: ReviewState, desk: Desk) -> None:
    left = gold.left_in(Queue.PENDING, "verbal")
    gold.reject_at_once(draw(gold), "wrong_type")
    draw(gold)
    gold.undo()
    assert gold.message == "Rejection undone."  # no settlement
    assert gold.left_in(Queue.PENDING, "verbal") == left
    card = draw(gold)
    assert (card.variant_id, card.gold, card.settles) == (GOLD, True, False)
    gold.edit(card, text="The tunnel isn't safe.")
    assert status(gold, GOLD) is Status.REJECTED
    assert len(desk.read(items.gold_items)) == 1


@pytest.mark.slow
@both_databases
def test_nothing_on_its_card_tells_what_others_did(gold: ReviewState, desk: Desk) -> None:
    desk.decide("Ben", GOLD)
    assert (draw(gold).variant_id, gold.message) == (GOLD, "")
    known = details(gold)
    assert known.past == known.written == known.removed == known.marks == known.models == []
    desk.write(add_note, GOLD, reviewer_id=gold.reviewer_id, text="My own.")
    assert [note.text for note in details(gold).written] == ["My own."]
    desk.decide("Ben", GOLD)  # while the card is on the screen
    assert (focus(gold).notes, gold.message) == (1, "")
    gold.accept(draw(gold))
    assert "Ben" not in gold.message and not gold.warn


@pytest.mark.slow
def test_as_a_sibling_it_looks_pending_too(gold: ReviewState) -> None:
    gold.pin(GOLD + 1)
    assert {item.variant.status for item in details(gold).siblings} == {Status.PENDING}
    gold.by_family = True
    found = {item.variant.id: item.variant.status for item in gold.view().cards}
    assert found == dict.fromkeys(range(GOLD, GOLD + 7), Status.PENDING)
    assert gold.showings[GOLD].gold and not gold.showings[GOLD].settles


@pytest.mark.slow
def test_the_maker_never_gets_it_and_sees_it_unchanged(gold: ReviewState) -> None:
    lena = colleague(gold, "Lena")
    for expected in (1, 8):
        card = draw(lena)
        assert card.variant_id == expected
        lena.accept(card)
    assert lena.view().focus is None  # the queue is empty
    lena.pin(GOLD)
    card = draw(lena)
    assert not card.gold and not card.settles  # it is changed where it was created
    assert focus(lena).variant.status is Status.REJECTED


def test_reviewers_who_decided_see_everything_and_cannot_settle_it(gold: ReviewState) -> None:
    gold.accept(draw(gold))
    gold.pin(GOLD)
    card = draw(gold)
    assert not card.gold and not card.settles
    gold.accept(card)
    assert status(gold, GOLD) is Status.REJECTED


@pytest.mark.slow
def test_it_is_as_blind_as_the_others_and_in_one_window_only(gold: ReviewState) -> None:
    gold.blind = True
    card = draw(gold)
    assert card.variant_id == GOLD and card.blind
    assert draw(colleague(gold, "Cleo")).variant_id != GOLD
    gold.accept(card)
    assert "Lena" not in gold.message and "settled" not in gold.message


def test_gold_items_appear_only_in_a_queue_of_their_type_and_source_with_other_cards(
    gold: ReviewState, desk: Desk
) -> None:
    gold.queue = Queue.SECOND_LOOK
    assert gold.view().focus is None
    gold.queue, gold.type_id = Queue.PENDING, "word"
    assert draw(gold).variant_id != GOLD
    gold.type_id, gold.source_id = "verbal", 99
    gold.restart()
    assert gold.view().focus is None
    gold.source_id = None
    for variant_id in (1, 8):
        desk.decide("Ben", variant_id)
    assert gold.view().focus is None


def test_without_a_rate_and_in_practice_there_are_no_gold_items(
    gold: ReviewState, desk: Desk
) -> None:
    desk.write(put_setting, GOLD_RATE, 0)
    assert draw(gold).variant_id != GOLD
    desk.write(put_setting, GOLD_RATE, 1)
    uid, more = desk.uid(GOLD), {"reason": "wrong_scope", "use": GoldUse.TRAINING}
    desk.write(items.remove, uid)
    desk.write(items.mark, uid, R, reviewer_id=desk.who("Lena"), **more)
    gold.restart()
    assert draw(gold).variant_id != GOLD


@pytest.mark.slow
def test_one_card_in_so_many_is_a_gold_item_and_a_restart_changes_nothing(
    state: ReviewState, desk: Desk
) -> None:
    """Twenty gold items among 100 pending variants; one card in five."""
    with writing(state.engine) as session:
        lena = person(session, "Lena")
        for number in range(120):
            family = add_family(session, f"Door {number} is safe.", subject=f"door {number}")
            if number % 6 == 0:
                items.mark(session, family["verbal"].uid, A, reviewer_id=lena)
        put_setting(session, GOLD_RATE, 5)
    seen: list[bool] = []
    for number in range(75):
        if number % 7 == 0:  # another window, another day
            window = colleague(state, "Ada")
        card = draw(window)
        seen.append(card.gold)
        window.accept(card)
    places = [place for place, is_gold in enumerate(seen) if is_gold]
    gaps = {later - earlier for earlier, later in pairwise(places)}
    assert 10 <= len(places) <= 20 and max(gaps) <= 9 and len(gaps) > 3  # nobody can count them
    first = {
        desk.read(mixing.due, key, type_ids=["verbal"], source_id=None, passed=())
        for key in desk.people("Ben", "Cleo", "Dora", "Eve")
    }
    assert len(first) > 1  # each has an order of their own


@pytest.mark.slow
def test_in_a_selection_it_is_open_until_one_has_decided(gold: ReviewState) -> None:
    for window, open_ids in ((gold, {GOLD, 1}), (colleague(gold, "Lena"), {1})):
        window.take(VariantSelection((GOLD, 1), "a search"))
        assert window.selection is not None and window.selection.open == open_ids
    card = draw(gold)
    assert card.variant_id == GOLD and card.gold
    gold.accept(card)
    assert gold.selection is not None and gold.selection.open == {1}
    gold.undo()
    assert gold.selection.open == {GOLD, 1}


@pytest.mark.slow
def test_in_the_family_view_the_keys_come_to_it(gold: ReviewState, desk: Desk) -> None:
    desk.write(put_setting, GOLD_RATE, 0)
    gold.by_family, gold.type_id = True, None
    gold.pin(GOLD + 1)
    seen = set()
    for _ in range(7):
        card = draw(gold)
        seen.add(card.variant_id)
        gold.accept(card)
    assert seen == set(range(GOLD, GOLD + 7))


# -- calibration samples -----------------------------------------------------------------------


def sample(desk: Desk) -> str:
    return address_name(desk.write(draw_sample, SampleRequest(size=2, types=("verbal",))).id)


def opened(state: ReviewState, name: str) -> VariantSelection:
    found = Desk(state.engine).read(sample_selection, name, state.reviewer_id)
    assert found is not None
    state.take(found)
    return found


@pytest.mark.slow
@both_databases
def test_each_person_goes_through_the_sample_blind_whatever_others_decided(
    state: ReviewState, desk: Desk
) -> None:
    name, bert = sample(desk), colleague(state)
    selection = opened(state, name)
    assert not state.blind
    for _ in selection.ids:
        card = draw(state)
        assert card.blind and card.variant_id in state.view().hidden
        assert "sample" in desk.read(state.why_hidden, focus(state).variant)
        state.reject(card, "wrong_scope")
    assert state.view().focus is None
    assert opened(bert, name).open == set(selection.ids)
    card = draw(bert)
    assert card.blind and not card.settles
    bert.accept(card)
    assert "Ada" in bert.message
    assert all(d.blind for d in desk.read(history, card.variant_id))
    bert.undo()
    assert bert.selection is not None and bert.selection.open == set(selection.ids)


def test_in_the_queue_its_cards_are_blind_too_and_the_others_are_not(
    state: ReviewState, desk: Desk
) -> None:
    found = desk.read(sample_selection, sample(desk), state.reviewer_id)
    assert found is not None
    blind = set()
    for variant_id in (1, 8, 15):
        state.pin(variant_id)
        blind |= {variant_id} if draw(state).blind else set()
    assert blind == set(found.ids)


def test_the_opinion_on_such_a_card_is_shown_after_your_decision(
    state: ReviewState, desk: Desk
) -> None:
    for variant_id in (1, 8, 15):
        desk.opine(desk.write(judge), variant_id)
    opened(state, sample(desk))
    card = draw(state)
    who = {"reviewer_id": state.reviewer_id, "own_first": card.blind}
    with refused("after you have decided"):
        desk.write(show_opinions, card.variant_id, **who)
