"""Gold items in the queue: at their rate, never for their maker, and like any pending card."""

from itertools import pairwise

import pytest
from sqlalchemy import select
from sqlmodel import col

from curation.project.opening import GOLD_RATE, put_setting
from curation.review import actions
from curation.review.browser_window.details import details_of
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.selection import VariantSelection
from curation.review.discussing import mark as mark_to_discuss
from curation.review.gold import items, mixing
from curation.review.notes import add_note
from curation.review.queue import Queue
from curation.review.shown_card import shown
from db.engine import reading, writing
from db.models import Decision, GoldUse, Status, Variant, Verdict
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, person
from tests.support.reviewing import VERBAL, colleague, draw

pytestmark = both_databases


@pytest.fixture
def gold(state: ReviewState) -> int:
    """The id of a gold item that Lena has created, of the type under review. Every card is gold."""
    with writing(state.engine) as session:
        put_setting(session, GOLD_RATE, 1)
        lena = person(session, "Lena")
        variant = session.execute(VERBAL).scalars().all()[2]
        add_note(session, variant.id, reviewer_id=lena, text="A secret.")
        made = items.mark(
            session, variant.uid, Verdict.REJECT, reviewer_id=lena, reason="wrong_scope"
        )
        mark_to_discuss(session, variant.id, reviewer_id=lena, remark="Another secret.")
    state.recount()
    return made.variant_id


def stored(state: ReviewState, variant_id: int) -> list[Decision]:
    with reading(state.engine) as session:
        query = select(Decision).where(col(Decision.variant_id) == variant_id)
        return list(session.execute(query.order_by(col(Decision.id))).scalars())


def test_a_gold_item_comes_like_a_pending_card_and_is_decided_like_one(
    state: ReviewState, gold: int
) -> None:
    left = state.pending("verbal")
    card = draw(state)
    assert card.variant_id == gold and not card.settles and not card.blind
    view = state.view()
    assert view.focus is not None and view.hidden == frozenset()
    assert (view.focus.variant.status, view.focus.notes) == (Status.PENDING, 0)
    state.accept(card)
    assert state.message == "Accepted: “The bridge is not safe.” Press Z to undo."
    assert state.pending("verbal") == left - 1
    settlement, answer = stored(state, gold)
    assert (answer.verdict, answer.adjudicates, answer.blind) == (Verdict.ACCEPT, False, True)
    assert settlement.adjudicates
    with reading(state.engine) as session:
        assert session.get_one(Variant, gold).status is Status.REJECTED
    assert draw(state).variant_id != gold  # once


def test_an_undo_shows_it_as_a_pending_card_again(state: ReviewState, gold: int) -> None:
    left = state.pending("verbal")
    state.reject_at_once(draw(state), "wrong_type")
    assert state.message == "Rejected (wrong type): “The bridge is not safe.” Press Z to undo."
    draw(state)
    state.undo()
    assert (state.message, state.pending("verbal")) == ("Rejection undone.", left)
    card = draw(state)
    assert card.variant_id == gold and card.gold and not card.settles
    state.edit(card, text="The tunnel isn't safe.")
    with reading(state.engine) as session:
        assert session.get_one(Variant, gold).status is Status.REJECTED
        assert len(items.gold_items(session)) == 1


def test_nothing_on_its_card_tells_what_others_did(state: ReviewState, gold: int) -> None:
    with writing(state.engine) as session:
        ben = person(session, "Ben")
        variant = session.get_one(Variant, gold)
        actions.accept(session, shown(variant), reviewer_id=ben)
    card = draw(state)
    assert card.variant_id == gold and state.message == ""
    focus = state.view().focus
    assert focus is not None
    with writing(state.engine) as session:
        known = details_of(session, state, focus, hidden=False)
        assert known.past == known.written == known.removed == known.marks == known.models == []
        add_note(session, gold, reviewer_id=state.reviewer_id, text="My own.")
        known = details_of(session, state, focus, hidden=False)
        assert [note.text for note in known.written] == ["My own."]
    with writing(state.engine) as session:  # while the card is on the screen
        actions.accept(session, shown(session.get_one(Variant, gold)), reviewer_id=ben)
    focus = state.view().focus
    assert focus is not None and focus.notes == 1 and state.message == ""
    state.accept(draw(state))
    assert (
        state.message == "Accepted: “The bridge is not safe.” Press Z to undo." and not state.warn
    )


def test_as_a_sibling_it_looks_pending_too(state: ReviewState, gold: int) -> None:
    with reading(state.engine) as session:
        anchor_id = session.get_one(Variant, gold).anchor_id
        other = session.execute(
            select(col(Variant.id)).where(
                col(Variant.anchor_id) == anchor_id, col(Variant.id) != gold
            )
        ).scalars()
        sibling = next(iter(other))
    state.pin(sibling)
    focus = state.view().focus
    assert focus is not None
    with reading(state.engine) as session:
        siblings = details_of(session, state, focus, hidden=False).siblings
    assert {item.variant.status for item in siblings} == {Status.PENDING}
    state.by_family = True
    view = state.view()
    assert gold in {item.variant.id for item in view.cards}
    assert {item.variant.status for item in view.cards} == {Status.PENDING}
    assert state.showings[gold].gold and not state.showings[gold].settles


def test_the_maker_never_gets_it_and_sees_it_unchanged(state: ReviewState, gold: int) -> None:
    lena = colleague(state, "Lena")
    for _ in range(2):
        card = draw(lena)
        assert card.variant_id != gold
        lena.accept(card)
    assert lena.view().focus is None  # the queue is empty
    lena.pin(gold)
    card = draw(lena)
    assert not card.gold and not card.settles  # it is changed where it was created
    focus = lena.view().focus
    assert focus is not None and focus.variant.status is Status.REJECTED


def test_reviewers_who_decided_see_everything_and_cannot_settle_it(
    state: ReviewState, gold: int
) -> None:
    state.accept(draw(state))
    state.pin(gold)
    card = draw(state)
    assert not card.gold and not card.settles
    state.accept(card)
    with reading(state.engine) as session:
        assert session.get_one(Variant, gold).status is Status.REJECTED


def test_in_blind_mode_it_is_as_blind_as_the_others(state: ReviewState, gold: int) -> None:
    state.blind = True
    card = draw(state)
    assert card.variant_id == gold and card.blind
    state.accept(card)
    assert "Lena" not in state.message and "settled" not in state.message


def test_two_windows_do_not_get_the_same_one(state: ReviewState, gold: int) -> None:
    assert draw(state).variant_id == gold
    assert draw(colleague(state, "Cleo")).variant_id != gold


@one_database
def test_gold_items_appear_only_in_a_queue_of_their_type_and_source_with_other_cards(
    state: ReviewState, gold: int
) -> None:
    state.queue = Queue.SECOND_LOOK
    assert state.view().focus is None
    state.queue, state.type_id = Queue.PENDING, "word"
    assert draw(state).variant_id != gold
    state.type_id, state.source_id = "verbal", 99
    state.restart()
    assert state.view().focus is None
    state.source_id = None
    with writing(state.engine) as session:
        for variant in session.execute(VERBAL).scalars():
            if variant.id != gold:
                actions.accept(session, shown(variant), reviewer_id=person(session, "Ben"))
    assert state.view().focus is None


@one_database
def test_without_a_rate_and_in_practice_there_are_no_gold_items(
    state: ReviewState, gold: int
) -> None:
    with writing(state.engine) as session:
        put_setting(session, GOLD_RATE, 0)
    assert draw(state).variant_id != gold
    with writing(state.engine) as session:
        put_setting(session, GOLD_RATE, 1)
        made = items.gold_items(session)[0]
        items.remove(session, made.uid)
        items.mark(
            session,
            made.uid,
            Verdict.REJECT,
            reviewer_id=made.maker_id,
            reason="wrong_scope",
            use=GoldUse.TRAINING,
        )
    state.restart()
    assert draw(state).variant_id != gold


@pytest.fixture
def many(state: ReviewState) -> ReviewState:
    """Forty gold items among 200 pending variants; one card in five."""
    with writing(state.engine) as session:
        lena = person(session, "Lena")
        for number in range(240):
            family = add_family(session, f"Door {number} is safe.", subject=f"door {number}")
            if number % 6 == 0:
                items.mark(session, family["verbal"].uid, Verdict.ACCEPT, reviewer_id=lena)
        put_setting(session, GOLD_RATE, 5)
    state.recount()
    return state


@one_database
def test_one_card_in_so_many_is_a_gold_item_and_a_restart_changes_nothing(
    many: ReviewState,
) -> None:
    seen: list[bool] = []
    for number in range(150):
        if number % 7 == 0:  # another window, another day
            many = colleague(many, "Ada")
        card = draw(many)
        seen.append(card.gold)
        many.accept(card)
    assert 22 <= sum(seen) <= 38
    places = [place for place, is_gold in enumerate(seen) if is_gold]
    gaps = {later - earlier for earlier, later in pairwise(places)}
    assert max(gaps) <= 9 and len(gaps) > 3  # nobody can count them


@one_database
def test_reviewers_get_them_in_an_order_of_their_own(many: ReviewState) -> None:
    with writing(many.engine) as session:
        put_setting(session, GOLD_RATE, 1)
        first = {
            mixing.due(session, key, type_ids=["verbal"], source_id=None, passed=())
            for key in (person(session, name) for name in ("Ada", "Ben", "Cleo", "Dora"))
        }
    assert len(first) > 1


def test_in_a_selection_it_is_open_until_one_has_decided(state: ReviewState, gold: int) -> None:
    for window, size in ((state, 2), (colleague(state, "Lena"), 1)):
        window.take(VariantSelection((gold, 1), "a search"))
        assert window.selection is not None and len(window.selection.open or ()) == size
    card = draw(state)
    assert card.variant_id == gold and card.gold
    state.accept(card)
    assert state.selection is not None and state.selection.open == {1}
    state.undo()
    assert state.selection.open == {gold, 1}


def test_in_the_family_view_the_keys_come_to_it(state: ReviewState, gold: int) -> None:
    with writing(state.engine) as session:
        put_setting(session, GOLD_RATE, 0)
        anchor_id = session.get_one(Variant, gold).anchor_id
        first = (
            session.execute(
                select(col(Variant.id))
                .where(col(Variant.anchor_id) == anchor_id, col(Variant.id) != gold)
                .order_by(col(Variant.id))
            )
            .scalars()
            .first()
        )
    assert first is not None
    state.by_family, state.type_id = True, None
    state.pin(first)
    seen = []
    for _ in range(7):
        card = draw(state)
        seen.append(card.variant_id)
        state.accept(card)
    assert gold in seen and len(set(seen)) == 7
