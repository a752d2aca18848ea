"""The effect of keys in a review session, without a browser."""

import pytest

from curation.decisions.history import history
from curation.decisions.notes import notes
from curation.review.browser_window import key_actions
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.messages import TOO_EARLY
from curation.review.browser_window.queue_position import Panel, ReviewPace
from curation.review.drafts import DraftKind, drafted_variants, keep_draft
from curation.review.queue import Queue
from db.errors import HedgerowError
from db.models import Status
from tests.curation.review.desk import Desk, statements
from tests.support.reviewing import colleague, draw, status

NEXT = (1, 8, 15)
"""The verbal variants, in the order of the queue."""


def accept(state: ReviewState) -> int:
    card = draw(state)
    state.accept(card)
    return card.variant_id


def skip(state: ReviewState) -> int:
    card = draw(state)
    state.skip(card)
    return card.variant_id


def shows(state: ReviewState) -> int:
    return draw(state).variant_id


# -- when a key counts -------------------------------------------------------------------------


@pytest.mark.slow
def test_a_key_for_a_card_that_is_gone_or_was_never_shown_does_nothing(state: ReviewState) -> None:
    view = state.view()
    assert view.focus is not None
    state.accept(state.showings[view.focus.variant.id])
    assert state.left_in(Queue.PENDING, "verbal") == 3
    first = draw(state)
    state.accept(first)
    assert "The bridge is not safe." in state.message and "Press Z" in state.message
    second = draw(state)
    state.reject(first, "wrong_type")
    assert (first.variant_id, second.variant_id) == NEXT[:2]
    assert [status(state, key) for key in NEXT[:2]] == [Status.ACCEPTED, Status.PENDING]
    assert state.left_in(Queue.PENDING, "verbal") == 2


def test_a_key_within_the_first_moment_of_a_card_does_nothing_and_gives_a_quiet_sign(
    state: ReviewState, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(state)
    before = state.message
    monkeypatch.setattr(key_actions, "MIN_SHOWN_SECONDS", 60.0)
    card = draw(state)
    state.accept(card)
    state.skip(card)
    assert status(state, card.variant_id) == Status.PENDING
    assert draw(state) == card
    assert (state.message, state.warn) == (f"{before} {TOO_EARLY}", False)


@pytest.mark.parametrize("panel", [Panel.EDIT, Panel.RETYPE, Panel.REASON])
def test_a_late_key_decides_nothing_while_a_panel_is_open(state: ReviewState, panel: Panel) -> None:
    """The browser takes a moment to forget the keys of the buttons that an editor replaces. T or X
    and a digit in quick succession: the digit still applies to the previous row."""
    card = draw(state)
    state.toggle(panel)
    state.reject_at_once(card, "wrong_type")
    state.reject_family(card)
    if panel is Panel.EDIT:
        state.accept(card)
        state.skip(card)
        state.undo()
    assert status(state, card.variant_id) == Status.PENDING
    assert (draw(state), state.panel) == (card, panel)
    state.edit(card, text="The bridge isn't safe.")
    assert status(state, card.variant_id) == Status.SUPERSEDED


def test_a_decision_and_the_lease_on_the_next_card_are_stored_together(
    state: ReviewState, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = draw(state)
    with statements(state.engine) as made:
        state.accept(first)
    assert len([one for one, _ in made if one.startswith("BEGIN IMMEDIATE")]) == 1
    second = draw(state)
    assert state.screen.held == {second.variant_id}

    def fail(*_: object) -> None:
        raise HedgerowError("The disk is full.")

    monkeypatch.setattr(state, "_following", fail)
    state.accept(second)
    assert state.message == "The disk is full."
    assert status(state, second.variant_id) == Status.PENDING


# -- each action -------------------------------------------------------------------------------


def test_skipping_leaves_it_pending_and_out_of_the_queue(state: ReviewState) -> None:
    assert [skip(state) for _ in range(3)] == list(NEXT)
    assert state.view().focus is None
    assert (len(state.skipped), state.left_in(Queue.PENDING, "verbal")) == (3, 3)


def test_an_edit_is_counted_once_and_a_refused_one_leaves_the_panel(state: ReviewState) -> None:
    card = draw(state)
    state.toggle(Panel.EDIT)
    state.edit(card, text="   ")
    assert "2000" in state.message and state.warn
    assert (state.panel, state.edited, status(state, 1)) == (Panel.EDIT, 0, Status.PENDING)
    state.edit(card, text="The bridge isn't safe.")
    assert state.edited == 1
    counts = {Status.PENDING: 2, Status.ACCEPTED: 1, Status.SUPERSEDED: 1}
    assert state.counts["verbal"] == dict.fromkeys(Status, 0) | counts


def test_a_reason_is_chosen_before_its_note(state: ReviewState, desk: Desk) -> None:
    card = draw(state)
    state.toggle(Panel.REASON)
    assert not state.typing
    state.choose_reason(state.types[0], "wrong_scope")
    assert state.typing
    state.reject(card, state.reason, "on the date")
    (decision,) = desk.read(history, card.variant_id)
    assert (decision.reason, decision.note) == ("wrong_scope", "on the date")


def test_a_reason_that_is_not_for_the_type_rejects_nothing_and_says_so(state: ReviewState) -> None:
    card = draw(state)
    state.reject_at_once(card, "not_a_hedge")
    assert status(state, card.variant_id) == Status.PENDING
    assert "for hedges" in state.message and state.warn
    state.toggle(Panel.REASON)
    state.choose_reason(state.types[0], "not_a_hedge")
    assert "for hedges" in state.message and state.panel is Panel.REASON
    state.toggle(Panel.NONE)
    state.type_id = "word"
    state.restart()
    hedge = draw(state)
    state.reject_at_once(hedge, "not_contradictory")
    assert "for negations" in state.message
    state.reject_at_once(hedge, "not_a_hedge")
    assert status(state, hedge.variant_id) == Status.REJECTED


def test_a_note_decides_nothing(state: ReviewState, desk: Desk) -> None:
    card = draw(state)
    state.toggle(Panel.NOTE)
    state.note(card, "  ")
    assert state.panel is Panel.NOTE and state.message
    state.note(card, "Ask Bert.")
    assert state.panel is Panel.NONE
    assert draw(state) == card
    assert [note.text for note in desk.read(notes, card.variant_id)] == ["Ask Bert."]


def test_a_users_own_variant_is_added_once(state: ReviewState) -> None:
    card = draw(state)
    state.toggle(Panel.WRITE)
    own = {"type_id": "verbal", "text": "The bridge isn't a safe one.", "cue": ""}
    state.write(card, **own)
    state.write(card, **own)  # the same form, sent twice
    assert (state.counts["verbal"][Status.ACCEPTED], len(state.pace.actions)) == (1, 1)
    assert draw(state) == card
    state.undo()
    assert state.counts["verbal"][Status.ACCEPTED] == 0


# -- families ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_family_is_finished_before_the_next_one(state: ReviewState) -> None:
    state.by_family = True
    assert {accept(state) for _ in range(7)} == set(range(1, 8))
    assert shows(state) > 7


@pytest.mark.slow
def test_in_a_family_the_next_undecided_card_follows_and_the_first_after_the_last(
    state: ReviewState,
) -> None:
    state.by_family = True
    first = draw(state)
    state.step(first, 1)
    state.step(draw(state), 1)
    assert shows(state) == 3
    state.step(draw(state), -2)
    assert draw(state) == first
    for current, follows in ((3, 4), (4, 5), (6, 7), (7, 1), (5, 1), (1, 2)):
        state.focus(current)
        if current == 4:
            state.skip(draw(state))
        elif current == 6:
            state.edit(draw(state), text="The bridge isn't at all safe.", cue="at all")
        else:
            state.accept(draw(state))
        assert shows(state) == follows, current


def test_rejecting_a_family_continues_with_another_and_an_undo_comes_back(
    state: ReviewState,
) -> None:
    state.type_id = "lexical"
    state.reject_family(draw(state))
    assert (state.left_in(Queue.PENDING, "word"), shows(state)) == (2, 11)
    state.undo()
    assert shows(state) == 4


# -- undo --------------------------------------------------------------------------------------


def test_the_editor_offers_the_wording_of_an_undone_edit(state: ReviewState, desk: Desk) -> None:
    state.edit(draw(state), text="The bridge isn't safe.", note="Clearer.")
    draw(state)
    state.undo()
    assert "Press E" in state.message
    again = draw(state)
    state.toggle(Panel.EDIT)
    draft = state.drafts.begin(state.form_id, again.variant_id, state.draft_kind)
    assert (draft["text"], draft["note"]) == ("The bridge isn't safe.", "Clearer.")
    state.toggle(Panel.EDIT)
    state.accept(again)  # which decides against the edit
    assert not desk.read(drafted_variants, reviewer_id=state.reviewer_id)


@pytest.mark.slow
def test_an_undone_edit_replaces_no_newer_draft_and_an_undone_change_of_type_leaves_none(
    state: ReviewState, desk: Desk
) -> None:
    state.edit(draw(state), type_id="absolute")
    state.undo()
    state.toggle(Panel.EDIT)
    assert not state.drafts.begin(state.form_id, 1, state.draft_kind)
    state.toggle(Panel.EDIT)
    state.edit(draw(state), text="The bridge isn't safe.")
    newer = {"text": "The bridge is far from safe."}
    desk.write(keep_draft, 1, DraftKind.EDIT, newer, reviewer_id=state.reviewer_id)
    state.undo()
    state.toggle(Panel.EDIT)
    assert state.drafts.begin(state.form_id, 1, state.draft_kind) == newer


def test_one_of_the_last_decisions_is_undone_by_itself(state: ReviewState) -> None:
    cards = [draw(state)]
    state.accept(cards[0])
    accept(state)
    assert state.pace.summary().startswith("2 ")
    state.take_back(cards[0].action_id)
    assert [status(state, key) for key in NEXT[:2]] == [Status.PENDING, Status.ACCEPTED]
    assert (shows(state), state.pace.summary()[:2]) == (1, "1 ")
    state.take_back(cards[0].action_id)  # in a window that still lists it
    assert cards[0].action_id in state.message


def test_undo_takes_a_note_back_before_the_decision(state: ReviewState, desk: Desk) -> None:
    first = accept(state)
    second = draw(state)
    state.note(second, "Ask Bert.")
    accept(state)
    state.undo()
    state.undo()
    assert status(state, first) == Status.ACCEPTED
    assert shows(state) == second.variant_id
    assert desk.read(notes, second.variant_id) == []
    state.undo()
    assert status(state, first) == Status.PENDING


@pytest.mark.slow
def test_undo_brings_skipped_cards_back_before_the_decision(state: ReviewState) -> None:
    first, second, third = accept(state), skip(state), skip(state)
    state.undo()
    assert shows(state) == third
    state.undo()
    assert shows(state) == second and not state.skipped
    assert status(state, first) == Status.ACCEPTED
    for _ in range(2):  # the second finds nothing
        before = state.message
        state.undo()
        assert (status(state, first), state.left_in(Queue.PENDING, "verbal")) == (Status.PENDING, 3)
        assert shows(state) == first and state.message != before


@pytest.mark.slow
def test_a_decision_in_another_window_is_undone_before_an_earlier_skip(state: ReviewState) -> None:
    """A skip is not stored. A window that is opened later knows nothing of it."""
    skipped = skip(state)
    decided = accept(colleague(state, "Ada"))
    reloaded = colleague(state, "Ada")
    reloaded.undo()
    assert (status(state, decided), shows(reloaded)) == (Status.PENDING, decided)
    reloaded.accept(draw(reloaded))
    state.undo()
    assert status(state, decided) == Status.PENDING
    state.undo()
    assert shows(state) == skipped


def test_an_undone_decision_is_not_in_the_number_or_the_rate() -> None:
    pace = ReviewPace()
    for number in range(5):
        pace.did(f"action {number}")
    assert pace.summary().startswith("5 decisions today, about ")
    for number in range(1, 5):
        pace.undid(f"action {number}")
    assert pace.summary() == "1 decision today"
