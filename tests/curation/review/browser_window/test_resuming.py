"""The next window finds a lost window's position and drafts. Open windows keep their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, select, update

from curation.review import leases
from curation.review.browser_window.adjudicating import AdjudicationState
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.queue_position import Panel
from curation.review.drafts import DraftKind, drafted_variants, find_draft
from curation.review.queue import Order, Queue
from db.columns import now
from db.engine import reading, writing
from db.models import ReviewPosition
from tests.support.databases import both_databases
from tests.support.factories import person
from tests.support.reviewing import colleague, draw

pytestmark = both_databases

OLD = {"text": "The bridge is not safe.", "type": "verbal", "note": ""}
TYPED = OLD | {"text": "The bridge isn't"}


@pytest.fixture
def restart(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ends this server, from the point of view of its windows."""
    return lambda: monkeypatch.setattr(leases, "_SERVER", f"{leases._SERVER}x")


def never_open(window: str) -> bool:
    return False


def opened(
    state: ReviewState, *, go_there: bool = True, is_open: Any = lambda window: True
) -> ReviewState:
    """A new window of the same reviewer."""
    new = ReviewState(engine=state.engine, reviewer_id=state.reviewer_id, types=state.types)
    new.recount()
    new.know_drafts()
    new.find_left(is_open, go_there=go_there)
    new.resume()
    return new


def type_in(state: ReviewState, variant_id: int, kind: DraftKind = DraftKind.EDIT) -> None:
    """Do what the editor does when the browser sends a text."""
    state.draft(variant_id, kind)
    state.keep(variant_id, kind, TYPED, untouched=OLD)


def draft(state: ReviewState, variant_id: int, kind: DraftKind) -> dict[str, str]:
    with reading(state.engine) as session:
        return find_draft(session, variant_id, kind, reviewer_id=state.reviewer_id)


def go_on(state: ReviewState, cards: int) -> int:
    """Decide on some cards. Returns the card that is shown then."""
    for _ in range(cards):
        state.accept(draw(state))
    return draw(state).variant_id


def test_after_a_restart_a_new_window_shows_the_same_card_of_the_same_queue(
    state: ReviewState, restart: Any
) -> None:
    state.go_to(queue=Queue.PENDING, type_id="affixal", order=Order.RANDOM, family=True)
    here = go_on(state, 1)
    restart()
    new = opened(state)
    assert (new.type_id, new.order, new.by_family) == ("affixal", Order.RANDOM, True)
    assert draw(new).variant_id == here
    assert not new.message
    with reading(state.engine) as session:
        assert len(session.execute(select(ReviewPosition)).all()) == 1


def test_the_typed_text_is_restored_in_an_open_editor(state: ReviewState, restart: Any) -> None:
    here = go_on(state, 1)
    state.toggle(Panel.EDIT)
    type_in(state, here)
    restart()
    new = opened(state)
    assert (draw(new).variant_id, new.panel) == (here, Panel.EDIT)
    assert new.draft(here, new.draft_kind) == TYPED


def test_a_rejection_is_imported_with_its_reason(state: ReviewState, restart: Any) -> None:
    here = draw(state).variant_id
    fields = {"reason": "not_fluent", "text": "odd word order"}
    state.draft(here, DraftKind.REJECT)
    state.keep(here, DraftKind.REJECT, fields, untouched={"reason": "not_fluent", "text": ""})
    restart()
    new = opened(state)
    assert (new.panel, new.reason) == (Panel.REJECT, "not_fluent")


def test_another_requested_queue_starts_at_its_first_card(state: ReviewState, restart: Any) -> None:
    go_on(state, 1)
    restart()
    new = opened(state, go_there=False)
    assert new.type_id is None
    new.go_to(queue=Queue.PENDING, type_id="word", order=Order.OLDEST, family=False)
    new.resume()
    view = new.view()
    assert view.focus is not None
    assert view.focus.variant.type_id == "word"


def test_an_open_window_keeps_its_place(state: ReviewState) -> None:
    here = go_on(state, 1)
    new = opened(state)
    new.type_id = state.type_id
    assert draw(new).variant_id != here
    assert draw(state).variant_id == here
    assert "another window" not in state.message


def test_a_closed_window_is_continued(state: ReviewState) -> None:
    here = go_on(state, 1)
    assert draw(opened(state, is_open=never_open)).variant_id == here


def test_two_lost_windows_are_continued_one_by_one(state: ReviewState, restart: Any) -> None:
    first = go_on(state, 1)
    other = colleague(state, "Ada")
    second = draw(other).variant_id
    assert first != second
    restart()
    assert [draw(opened(state)).variant_id for _ in range(2)] == [second, first]


def test_another_persons_place_and_drafts_are_theirs(state: ReviewState, restart: Any) -> None:
    here = go_on(state, 1)
    type_in(state, here)
    with writing(state.engine) as session:
        bert = person(session, "Bert")
    restart()
    other = ReviewState(engine=state.engine, reviewer_id=bert, types=state.types)
    other.recount()
    other.find_left(never_open, go_there=True)
    assert not other.left_at
    assert other.draft(here, DraftKind.EDIT) == {}


def test_a_card_that_somebody_decided_meanwhile_is_skipped_unless_it_has_a_draft(
    state: ReviewState, restart: Any
) -> None:
    here = draw(state).variant_id
    restart()
    other = colleague(state)
    other.pin(here)
    other.accept(draw(other))
    assert draw(opened(state)).variant_id != here
    other.pin(here)
    draw(other)
    with writing(state.engine) as session:
        session.execute(update(ReviewPosition).values(variant_id=here))
    type_in(state, here)
    restart()
    new = opened(state)
    assert (new.pinned, new.panel) == (here, Panel.EDIT)


@pytest.mark.parametrize(("typed", "lapsed"), [(True, False), (False, True), (False, False)])
def test_a_window_of_another_server_is_continued_for_a_draft_or_after_its_lease(
    typed: bool, lapsed: bool, state: ReviewState
) -> None:
    state.screen.window = f"{'0' * 32}/another/1/elsewhere"
    here = go_on(state, 1)
    if typed:
        type_in(state, here)
    if lapsed:
        long_ago = now() - leases.LEASE - timedelta(seconds=1)
        with writing(state.engine) as session:
            session.execute(update(ReviewPosition).values(seen_at=long_ago))
    new = opened(state)
    new.type_id = state.type_id
    assert (draw(new).variant_id == here) == (typed or lapsed)


def test_a_draft_is_forgotten_once_its_card_is_decided(state: ReviewState) -> None:
    shown = draw(state)
    for kind in DraftKind:
        type_in(state, shown.variant_id, kind)
    state.accept(shown)
    left = {kind for kind in DraftKind if draft(state, shown.variant_id, kind)}
    assert left == {DraftKind.NOTE, DraftKind.WRITE, DraftKind.DISCUSS}  # these decide nothing


def test_the_review_page_does_not_continue_in_the_conflicts_of_the_adjudicate_page(
    state: ReviewState, restart: Any
) -> None:
    other = AdjudicationState(engine=state.engine, reviewer_id=state.reviewer_id, types=state.types)
    other.recount()
    other.view()
    restart()
    assert opened(state).queue is Queue.PENDING
    with reading(state.engine) as session:
        assert session.execute(select(ReviewPosition)).all() == []


def test_a_draft_is_forgotten_once_it_is_saved_or_discarded_or_undone_by_hand(
    state: ReviewState,
) -> None:
    shown = draw(state)
    key = shown.variant_id
    state.toggle(Panel.NOTE)
    type_in(state, key, DraftKind.NOTE)
    state.note(shown, "odd")
    assert draft(state, key, DraftKind.NOTE) == {}
    state.toggle(Panel.WRITE)
    type_in(state, key, DraftKind.WRITE)
    state.write(shown, type_id="verbal", text="The bridge isn't safe at all.", cue=None)
    assert draft(state, key, DraftKind.WRITE) == {}
    state.toggle(Panel.EDIT)
    type_in(state, key)
    state.discard(shown)
    assert draft(state, key, DraftKind.EDIT) == {}
    state.toggle(Panel.EDIT)
    type_in(state, key)
    state.keep(key, DraftKind.EDIT, OLD, untouched=OLD)
    with reading(state.engine) as session:
        assert drafted_variants(session, reviewer_id=state.reviewer_id) == set()


def test_an_editor_reopens_with_its_draft(
    state: ReviewState,
) -> None:
    key = draw(state).variant_id
    state.toggle(Panel.EDIT)
    type_in(state, key)
    state.toggle(Panel.EDIT)
    state.toggle(Panel.EDIT)
    assert state.draft(key, DraftKind.EDIT) == TYPED


@contextmanager
def statements(state: ReviewState) -> Iterator[list[str]]:
    found: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        found.append(statement.split("\n")[0])

    event.listen(state.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(state.engine, "before_cursor_execute", note)


def test_a_decision_costs_one_write_more_and_drafts_on_other_cards_none(
    state: ReviewState,
) -> None:
    type_in(state, 14)  # a variant of another family
    shown = draw(state)
    with statements(state) as made:
        state.accept(shown)
        draw(state)
    assert len([one for one in made if "review_position" in one]) == 1
    assert not [one for one in made if "draft" in one]


def test_a_draft_holds_whatever_is_typed(state: ReviewState) -> None:
    key = draw(state).variant_id
    state.draft(key, DraftKind.NOTE)
    typed = "<b>\u202e{}'\"\\\0 \N{GRINNING FACE}"
    state.keep(key, DraftKind.NOTE, {"text": typed}, untouched={"text": ""})
    assert draft(state, key, DraftKind.NOTE) == {"text": typed.replace("\0", "")}


def test_a_draft_is_stored_once_for_each_change(state: ReviewState) -> None:
    key = draw(state).variant_id
    type_in(state, key)
    with statements(state) as made:
        state.keep(key, DraftKind.EDIT, TYPED, untouched=OLD)
    assert made == []


def test_a_place_that_another_version_stored_is_skipped(state: ReviewState, restart: Any) -> None:
    go_on(state, 1)
    with writing(state.engine) as session:
        session.execute(update(ReviewPosition).values(place={"queue": "hardest-first"}))
    restart()
    assert not opened(state).left_at
