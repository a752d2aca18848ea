"""The effect of keys in a review session, without a browser."""

import pytest
from sqlalchemy import event

from curation.review.browser_window import key_actions
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.messages import TOO_EARLY
from curation.review.browser_window.queue_position import Panel
from curation.review.drafts import DraftKind, drafted_variants, keep_draft
from curation.review.history import history
from curation.review.notes import notes
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Status, Variant
from tests.support.reviewing import colleague, draw, status


def test_accepting_continues_with_the_next(state: ReviewState) -> None:
    first = draw(state)
    state.accept(first)
    second = draw(state)
    assert second.variant_id != first.variant_id
    assert status(state, first.variant_id) == Status.ACCEPTED
    assert state.pending("verbal") == 2
    assert state.message == "Accepted: “The bridge is not safe.” Press Z to undo."


def test_a_key_for_a_card_that_is_gone_does_nothing(state: ReviewState) -> None:
    first = draw(state)
    state.accept(first)
    second = draw(state)
    state.reject(first, "wrong_type")
    assert status(state, first.variant_id) == Status.ACCEPTED
    assert status(state, second.variant_id) == Status.PENDING


def test_a_key_within_the_first_moment_of_a_card_does_nothing(
    state: ReviewState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_actions, "MIN_SHOWN_SECONDS", 60.0)
    first = draw(state)
    state.accept(first)
    state.skip(first)
    assert status(state, first.variant_id) == Status.PENDING
    assert draw(state) == first


def test_a_card_that_was_never_shown_ignores_keys(state: ReviewState) -> None:
    view = state.view()
    assert view.focus is not None
    state.accept(state.showings[view.focus.variant.id])
    assert state.pending("verbal") == 3


def test_redrawing_does_not_make_it_another_showing(state: ReviewState) -> None:
    first = draw(state)
    state.toggle(Panel.KEYS)
    assert draw(state) == first


def test_a_late_key_decides_nothing_while_an_editor_is_open(state: ReviewState) -> None:
    """The browser takes a moment to forget the keys of the buttons that an editor replaces."""
    card = draw(state)
    state.toggle(Panel.EDIT)
    state.accept(card)
    state.reject_at_once(card, "wrong_type")
    state.reject_family(card)
    state.skip(card)
    state.undo()
    assert status(state, card.variant_id) == Status.PENDING
    assert draw(state) == card
    assert state.panel is Panel.EDIT
    state.edit(card, text="The bridge isn't safe.")
    assert status(state, card.variant_id) == Status.SUPERSEDED


def test_undo_shows_the_card_again(state: ReviewState) -> None:
    first = draw(state)
    state.accept(first)
    draw(state)
    state.undo()
    assert draw(state).variant_id == first.variant_id
    assert state.pending("verbal") == 3
    assert state.message == "Acceptance undone."
    state.undo()
    assert state.message == "There is nothing left to undo."


def test_the_editor_offers_the_wording_of_an_undone_edit(state: ReviewState) -> None:
    first = draw(state)
    state.edit(first, text="The bridge isn't safe.", note="Clearer.")
    draw(state)
    state.undo()
    assert "Press E" in state.message
    again = draw(state)
    state.toggle(Panel.EDIT)
    draft = state.draft(again.variant_id, state.draft_kind)
    assert (draft["text"], draft["note"]) == ("The bridge isn't safe.", "Clearer.")
    state.toggle(Panel.EDIT)
    state.accept(again)  # which decides against the edit
    with reading(state.engine) as session:
        assert not drafted_variants(session, reviewer_id=state.reviewer_id)


def test_an_undone_edit_does_not_replace_a_newer_draft(state: ReviewState) -> None:
    first = draw(state)
    state.edit(first, text="The bridge isn't safe.")
    newer = {"text": "The bridge is far from safe."}
    with writing(state.engine) as session:
        keep_draft(session, first.variant_id, DraftKind.EDIT, newer, reviewer_id=state.reviewer_id)
    state.undo()
    state.toggle(Panel.EDIT)
    assert state.draft(first.variant_id, state.draft_kind) == newer


def test_undoing_another_type_leaves_no_draft(state: ReviewState) -> None:
    first = draw(state)
    state.edit(first, type_id="absolute")
    draw(state)
    state.undo()
    assert state.message == "Change of type undone."
    state.toggle(Panel.EDIT)
    assert not state.draft(first.variant_id, state.draft_kind)


def test_skipping_leaves_it_pending_and_out_of_the_queue(state: ReviewState) -> None:
    for _ in range(3):
        state.skip(draw(state))
    assert state.view().focus is None
    assert len(state.skipped) == 3
    assert state.pending("verbal") == 3


def test_an_edit_is_counted_once(state: ReviewState) -> None:
    card = draw(state)
    state.edit(card, text="The bridge isn't safe.")
    assert state.edited == 1
    assert state.counts["verbal"] == {
        Status.PENDING: 2,
        Status.ACCEPTED: 1,
        Status.REJECTED: 0,
        Status.CONFLICT: 0,
        Status.SUPERSEDED: 1,
    }


def test_problems_of_an_edit_are_reported_and_the_panel_stays(state: ReviewState) -> None:
    card = draw(state)
    state.toggle(Panel.EDIT)
    state.edit(card, text="   ")
    assert "Expected a text of 1 to 2000 characters" in state.message
    assert state.warn
    assert state.panel is Panel.EDIT
    assert state.edited == 0
    assert status(state, card.variant_id) == Status.PENDING


def test_a_family_is_finished_before_the_next_one(state: ReviewState) -> None:
    state.by_family = True
    seen = []
    for _ in range(7):
        card = draw(state)
        seen.append(card.variant_id)
        state.accept(card)
    with reading(state.engine) as session:
        anchors = {session.get_one(Variant, i).anchor_id for i in seen}
    assert len(set(seen)) == 7
    assert len(anchors) == 1
    with reading(state.engine) as session:
        after = session.get_one(Variant, draw(state).variant_id)
    assert after.anchor_id not in anchors


def test_any_card_of_a_family_can_be_decided(state: ReviewState) -> None:
    state.by_family = True
    first = draw(state)
    third = list(state.showings.values())[2]
    state.accept(third)
    assert status(state, third.variant_id) == Status.ACCEPTED
    assert status(state, first.variant_id) == Status.PENDING


def test_in_a_family_the_next_undecided_card_follows_and_the_first_after_the_last(
    state: ReviewState,
) -> None:
    state.by_family = True
    draw(state)
    ids = list(state.showings)
    for current, follows in ((2, 3), (3, 4), (5, 6), (6, 0), (4, 0), (0, 1)):
        state.focus(ids[current])
        if current == 3:
            state.skip(draw(state))
        elif current == 5:
            state.edit(draw(state), text="The bridge isn't at all safe.", cue="at all")
        else:
            state.accept(draw(state))
        assert draw(state).variant_id == ids[follows], current


def test_a_reason_that_is_not_for_the_type_rejects_nothing_and_says_so(state: ReviewState) -> None:
    card = draw(state)
    state.reject_at_once(card, "not_a_hedge")
    assert status(state, card.variant_id) == Status.PENDING
    assert "The reason 'Not a hedge' is for hedges" in state.message and state.warn
    state.toggle(Panel.REASON)
    state.choose_reason(state.types[0], "not_a_hedge")
    assert "is for hedges" in state.message and state.panel is Panel.REASON
    state.toggle(Panel.NONE)
    state.type_id = "word"
    state.restart()
    hedge = draw(state)
    state.reject_at_once(hedge, "not_contradictory")
    assert "is for negations" in state.message
    state.reject_at_once(hedge, "not_a_hedge")
    assert status(state, hedge.variant_id) == Status.REJECTED


def test_the_keys_move_through_a_family(state: ReviewState) -> None:
    state.by_family = True
    first = draw(state)
    state.step(first, 1)
    second = draw(state)
    assert second.variant_id != first.variant_id
    state.step(second, -1)
    assert draw(state) == first


def test_rejecting_a_family_continues_with_another_anchor(state: ReviewState) -> None:
    first = draw(state)
    state.reject_family(first)
    assert state.pending("word") == 2
    with reading(state.engine) as session:
        one = session.get_one(Variant, first.variant_id).anchor_id
        other = session.get_one(Variant, draw(state).variant_id).anchor_id
    assert one != other


@pytest.mark.parametrize("panel", [Panel.RETYPE, Panel.REASON])
def test_a_digit_rejects_nothing_before_its_row_is_shown(state: ReviewState, panel: Panel) -> None:
    """T or X and a digit in quick succession: the digit still applies to the previous row."""
    card = draw(state)
    state.toggle(panel)
    state.reject_at_once(card, "not_contradictory")
    state.reject_family(card)
    assert status(state, card.variant_id) == Status.PENDING
    assert state.panel is panel


def test_a_key_that_came_too_early_gives_a_quiet_sign(
    state: ReviewState, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.accept(draw(state))
    monkeypatch.setattr(key_actions, "MIN_SHOWN_SECONDS", 60.0)
    state.accept(draw(state))
    state.skip(draw(state))
    assert state.message == f"Accepted: “The bridge is not safe.” Press Z to undo. {TOO_EARLY}"
    assert not state.warn


def test_a_note_decides_nothing(state: ReviewState) -> None:
    card = draw(state)
    state.toggle(Panel.NOTE)
    state.note(card, "  ")
    assert state.panel is Panel.NOTE
    assert "Expected a note" in state.message
    state.note(card, "Ask Bert.")
    assert state.panel is Panel.NONE
    assert draw(state) == card
    with reading(state.engine) as session:
        assert [note.text for note in notes(session, card.variant_id)] == ["Ask Bert."]


def test_a_reason_is_chosen_before_its_note(state: ReviewState) -> None:
    card = draw(state)
    state.toggle(Panel.REASON)
    assert not state.typing
    state.choose_reason(state.types[0], "wrong_scope")
    assert state.typing
    state.reject(card, state.reason, "on the date")
    with reading(state.engine) as session:
        (decision,) = history(session, card.variant_id)
    assert (decision.reason, decision.note) == ("wrong_scope", "on the date")


def test_a_users_own_variant_is_added_once(state: ReviewState) -> None:
    card = draw(state)
    state.toggle(Panel.WRITE)
    own = {"type_id": "verbal", "text": "The bridge isn't a safe one.", "cue": ""}
    state.write(card, **own)
    state.write(card, **own)  # the same form, sent twice
    assert state.counts["verbal"][Status.ACCEPTED] == 1
    assert len(state.pace.actions) == 1
    assert draw(state) == card
    state.undo()
    assert state.counts["verbal"][Status.ACCEPTED] == 0


def test_one_of_the_last_decisions_is_undone_by_itself(state: ReviewState) -> None:
    cards = [draw(state)]
    state.accept(cards[0])
    cards.append(draw(state))
    state.accept(cards[1])
    assert state.pace.summary() == "2 decisions today"
    state.take_back(cards[0].action_id)
    assert [status(state, c.variant_id) for c in cards] == [Status.PENDING, Status.ACCEPTED]
    assert draw(state).variant_id == cards[0].variant_id
    assert state.pace.summary() == "1 decision today"
    state.take_back(cards[0].action_id)  # in a window that still lists it
    assert "no action" in state.message


def test_undoing_a_rejected_family_comes_back_to_its_card(state: ReviewState) -> None:
    state.type_id = "lexical"
    card = draw(state)
    state.reject_family(card)
    draw(state)
    state.undo()
    assert draw(state).variant_id == card.variant_id


def test_undo_after_a_note_removes_the_note_and_not_the_decision(state: ReviewState) -> None:
    first = draw(state)
    state.accept(first)
    second = draw(state)
    state.note(second, "Ask Bert.")
    state.accept(draw(state))
    state.undo()
    state.undo()
    assert state.message == "Note on “The bridge is not safe.” removed."
    assert status(state, first.variant_id) == Status.ACCEPTED
    assert draw(state).variant_id == second.variant_id
    with reading(state.engine) as session:
        assert notes(session, second.variant_id) == []
    state.undo()
    assert status(state, first.variant_id) == Status.PENDING


def test_undo_after_a_skip_brings_the_card_back_and_not_the_decision(state: ReviewState) -> None:
    first = draw(state)
    state.accept(first)
    second, third = (skip(state) for _ in range(2))
    state.undo()
    assert (draw(state).variant_id, state.message) == (third, "Skip undone.")
    state.undo()
    assert draw(state).variant_id == second
    assert not state.skipped
    assert status(state, first.variant_id) == Status.ACCEPTED
    state.undo()
    assert state.message == "Acceptance undone."
    state.undo()
    assert state.message == "There is nothing left to undo."


def skip(state: ReviewState) -> int:
    card = draw(state)
    state.skip(card)
    return card.variant_id


def test_a_decision_in_another_window_is_undone_before_an_earlier_skip(state: ReviewState) -> None:
    skipped = skip(state)
    other = colleague(state, "Ada")
    card = draw(other)
    other.accept(card)
    state.undo()
    assert state.message == "Acceptance undone."
    state.undo()
    assert draw(state).variant_id == skipped


def test_undo_after_a_reload_reverses_the_last_stored_action(state: ReviewState) -> None:
    """A skip is not stored. A new window knows nothing of it."""
    card = draw(state)
    state.accept(card)
    skip(state)
    reloaded = colleague(state, "Ada")
    reloaded.undo()
    assert reloaded.message == "Acceptance undone."
    assert draw(reloaded).variant_id == card.variant_id


def test_a_decision_and_the_lease_on_the_next_card_are_stored_together(
    state: ReviewState, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = draw(state)
    begun: list[str] = []

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        if statement.startswith("BEGIN IMMEDIATE"):
            begun.append(statement)

    event.listen(state.engine, "before_cursor_execute", note)
    state.accept(first)
    event.remove(state.engine, "before_cursor_execute", note)
    assert len(begun) == 1
    second = draw(state)
    assert state.screen.held == {second.variant_id}

    def fail(*_: object) -> None:
        raise HedgerowError("The disk is full.")

    monkeypatch.setattr(state, "_following", fail)
    state.accept(second)
    assert state.message == "The disk is full."
    assert status(state, second.variant_id) == Status.PENDING
