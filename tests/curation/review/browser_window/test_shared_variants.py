"""Variants that several people decide on: their cards and messages for each of them."""

import pytest
from sqlalchemy import select
from sqlmodel import col

from curation.anchors.changes import correct_anchor
from curation.review import actions
from curation.review.assignment.planning import assign
from curation.review.assignment.quotas import set_quota
from curation.review.browser_window.adjudicating import AdjudicationState
from curation.review.browser_window.details import details_of
from curation.review.browser_window.key_actions import ReviewState
from curation.review.decisions import compute_standing
from curation.review.discussing import mark
from curation.review.history import history
from curation.review.notes import add_note
from curation.review.queue import Order, Queue
from curation.review.settling import contested, shown_to_settle
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Status, Variant, Verdict
from tests.support.reviewing import VERBAL, colleague, draw, draw_same, status


@pytest.fixture
def pair(state: ReviewState) -> tuple[ReviewState, ReviewState]:
    """Ada's and Bert's windows. Two people decide on each variant."""
    return shared(state, reviewers=2)


def shared(state: ReviewState, *, reviewers: int) -> tuple[ReviewState, ReviewState]:
    with writing(state.engine) as session:
        assign(session, reviewers=reviewers, share=1)
    other = colleague(state)
    state.recount()
    return state, other


def variant(state: ReviewState, variant_id: int) -> Variant:
    with reading(state.engine) as session:
        return session.get_one(Variant, variant_id)


def test_the_second_one_is_given_it_blind_and_both_verdicts_make_a_conflict(
    pair: tuple[ReviewState, ReviewState],
) -> None:
    ada, bert = pair
    first = draw(ada)
    focus = ada.view().focus
    assert first.variant_id in ada.view().hidden  # everybody who decides on it sees the same
    with reading(ada.engine) as session:
        assert focus is not None
        assert "Several people" in ada.why_veiled(session, focus.variant)
    ada.reject(first, "wrong_scope", "Narrow.")
    assert "Rejected (wrong scope): “" in ada.message
    draw(ada)
    assert ada.pending("verbal") == 2
    bert.recount()
    assert bert.pending("verbal") == 3
    second = draw(bert)
    assert second.variant_id == first.variant_id and second.blind and not second.settles
    assert bert.view().hidden == {first.variant_id}
    bert.accept(second)
    assert "Before you, Ada rejected it (wrong scope)." in bert.message
    assert status(ada, first.variant_id) is Status.CONFLICT
    assert (bert.pending("verbal"), bert.left_in(Queue.CONFLICT)) == (2, 1)
    draw(ada)
    bert.pin(first.variant_id)
    assert bert.view().hidden == frozenset()
    assert bert.showings[first.variant_id].settles


def test_verdicts_are_hidden_until_the_last_person_has_decided(state: ReviewState) -> None:
    ada, bert = shared(state, reviewers=3)
    cleo = colleague(state, "Cleo")
    first = draw(ada).variant_id
    ada.accept(draw_same(ada, draw(ada)))
    bert.pin(first)
    bert.reject(draw(bert), "wrong_scope")
    assert "Ada" not in bert.message
    draw(ada)
    assert "Bert" not in ada.message
    ada.pin(first)
    assert first in ada.view().hidden
    desk = AdjudicationState(engine=ada.engine, reviewer_id=ada.reviewer_id, types=ada.types)
    desk.recount()
    assert status(ada, first) is Status.CONFLICT
    assert desk.view().focus is None and desk.left_in(Queue.CONFLICT) == 0
    with reading(ada.engine) as session:
        found = session.get_one(Variant, first)
        assert not contested(session, [found])
        with pytest.raises(HedgerowError, match="Not everybody assigned to"):
            shown_to_settle(session, found.uid)
    cleo.recount()
    cleo.pin(first)
    cleo.accept(draw(cleo))
    assert "Before you, Ada accepted it; Bert rejected it (wrong scope)." in cleo.message
    ada.leave()
    desk.recount()
    view = desk.view()
    assert view.focus is not None and view.focus.variant.id == first
    assert desk.left_in(Queue.CONFLICT) == 1 and view.hidden == frozenset()


def test_a_late_decision_is_reported_once_all_have_decided(state: ReviewState) -> None:
    ada, bert = shared(state, reviewers=3)
    cleo = colleague(state, "Cleo")
    first = draw(ada)
    theirs = draw_same(bert, first)
    ada.accept(first)
    bert.reject(theirs, "wrong_scope")
    draw(ada)
    assert "Bert" not in ada.message
    cleo.pin(first.variant_id)
    cleo.accept(draw(cleo))
    ada.view()
    assert "also had “The bridge is not safe.” on screen and rejected it" in ada.message


def test_an_edit_does_not_end_it_and_its_wording_is_not_shown(
    pair: tuple[ReviewState, ReviewState],
) -> None:
    ada, bert = pair
    first = draw(ada)
    ada.edit(first, text="The bridge isn't safe.")
    assert status(ada, first.variant_id) is Status.SUPERSEDED
    bert.recount()
    bert.details = True
    second = draw(bert)
    assert second.variant_id == first.variant_id
    with reading(bert.engine) as session:
        focus = bert.view().focus
        assert focus is not None
        known = details_of(session, bert, focus, hidden=True)
        child = session.execute(
            select(Variant).where(col(Variant.parent_id) == first.variant_id)
        ).scalar_one()
        assert child.id not in {item.variant.id for item in known.siblings}
    bert.by_family = True
    bert.restart()
    assert child.id not in {item.variant.id for item in bert.view().cards}
    bert.pin(first.variant_id)
    bert.accept(draw(bert))
    assert "Before you, Ada edited it." in bert.message
    assert status(ada, first.variant_id) is Status.CONFLICT
    ada.pin(first.variant_id)
    with pytest.raises(HedgerowError, match="replaced"), writing(ada.engine) as session:
        _edit_then_accept(session, ada.reviewer_id)


def _edit_then_accept(session, reviewer_id: int) -> None:  # type: ignore[no-untyped-def]
    """A person who has edited a variant does not accept its old text as well."""
    other = session.execute(VERBAL.where(col(Variant.status) == Status.PENDING)).scalars().first()
    actions.edit(session, actions.shown(other), reviewer_id=reviewer_id, text=f"{other.text}!")
    session.refresh(other)
    actions.accept(session, actions.shown(other), reviewer_id=reviewer_id)


def test_taking_it_back_gives_it_to_both_again(pair: tuple[ReviewState, ReviewState]) -> None:
    ada, bert = pair
    first = draw(ada)
    ada.accept(first)
    bert.recount()
    bert.accept(draw(bert))
    assert (ada.pending("verbal"), bert.pending("verbal")) == (2, 2)
    bert.undo()
    assert bert.pending("verbal") == 3
    assert first.variant_id in bert.view().hidden
    assert variant(ada, first.variant_id).verdicts_by == f",{ada.reviewer_id},"
    ada.undo()
    ada.recount()
    assert (ada.pending("verbal"), status(ada, first.variant_id)) == (3, Status.PENDING)


def test_a_correction_asks_all_of_them_again(pair: tuple[ReviewState, ReviewState]) -> None:
    ada, bert = pair
    first = draw(ada)
    ada.accept(first)
    with writing(ada.engine) as session:
        found = session.get_one(Variant, first.variant_id)
        correct_anchor(
            session,
            found.anchor_id,
            "The bridges are safe.",
            reviewer_id=bert.reviewer_id,
            expected_revision=1,
        )
    found = variant(ada, first.variant_id)
    assert (found.status, found.second_look, found.verdicts_by) == (Status.PENDING, True, "")
    ada.pin(first.variant_id)
    assert first.variant_id in ada.view().hidden
    ada.accept(draw(ada))
    bert.recount()
    assert draw(bert).variant_id == first.variant_id


def test_a_note_and_a_mark_of_somebody_else_stay_hidden(
    pair: tuple[ReviewState, ReviewState],
) -> None:
    ada, bert = pair
    first = draw(ada).variant_id
    ada.accept(draw(ada))
    with writing(ada.engine) as session:
        add_note(session, first, reviewer_id=ada.reviewer_id, text="Good.")
        mark(session, first, reviewer_id=ada.reviewer_id, remark="I would take it.")
    with reading(bert.engine) as session:
        assert bert.veiled_ids(session, [first]) == {first}
        desk = AdjudicationState(engine=bert.engine, reviewer_id=bert.reviewer_id, types=bert.types)
        assert desk.veiled_ids(session, [first]) == {first}


def test_without_an_assignment_nothing_is_blind_and_one_decision_is_enough(
    state: ReviewState,
) -> None:
    other = colleague(state)
    first = draw(state)
    assert state.view().hidden == frozenset()
    state.accept(first)
    assert variant(state, first.variant_id).verdicts_by == ""
    other.recount()
    assert draw(other).variant_id != first.variant_id


def test_a_larger_assignment_asks_others_and_ending_it_asks_nobody(state: ReviewState) -> None:
    first = draw(state)
    state.accept(first)
    _, other = shared(state, reviewers=2)
    assert draw(other).variant_id == first.variant_id
    version = variant(state, first.variant_id).version
    with writing(state.engine) as session:
        assign(session, reviewers=2, share=0)
        assert session.get_one(Variant, first.variant_id).version == version
    other.recount()
    other.restart()
    assert draw(other).variant_id != first.variant_id
    assert other.pending("verbal") == 2


def test_a_share_of_the_variants_only_grows(state: ReviewState) -> None:
    with writing(state.engine) as session:
        ids = session.execute(select(Variant.id)).scalars().all()
        for number in ids:
            found = session.get_one(Variant, number)
            actions.accept(session, actions.shown(found), reviewer_id=state.reviewer_id)
    begun: list[set[int]] = []
    for share in (0.2, 0.5, 0.8, 1):
        with writing(state.engine) as session:
            assign(session, reviewers=2, share=share)
            query = select(Variant.id).where(col(Variant.verdicts_by) != "")
            begun.append(set(session.execute(query).scalars()))
            kept = {key: compute_standing(session, ids)[key].verdicts_by for key in ids}
            assert {key for key in ids if kept[key]} == begun[-1]
    assert begun[0] < begun[1] < begun[2] < begun[3] == set(ids)


@pytest.mark.parametrize("order", [Order.OLDEST, Order.RANDOM])
def test_it_keeps_the_order_it_had_while_pending(
    pair: tuple[ReviewState, ReviewState], order: Order
) -> None:
    ada, bert = pair
    ada.order = bert.order = order
    bert.restart()
    before = draw(bert).variant_id
    bert.leave()
    ada.pin(before)
    ada.accept(draw(ada))
    bert.recount()
    assert draw(bert).variant_id == before


# -- quotas ------------------------------------------------------------------------------------


def test_a_reached_quota_closes_its_type(state: ReviewState) -> None:
    with writing(state.engine) as session:
        set_quota(session, state.reviewer_id, 2, type_id="verbal")
    state.recount()
    assert state.pending("verbal") == 3
    state.accept(draw(state))
    state.reject(draw(state), "wrong_scope")
    assert state.view().focus is None
    assert (state.pending("verbal"), state.elsewhere, state.count_skipped()) == (0, 0, 0)
    assert state.reached(Queue.PENDING) == {"verbal"} and state.reached(Queue.CONFLICT) == set()
    state.go_to(queue=Queue.PENDING, type_id=None, order=Order.OLDEST, family=False)
    focus = state.view().focus
    assert focus is not None and focus.variant.type_id != "verbal"
    state.undo()
    assert state.pending("verbal") == 2
    workload = state.workload
    assert workload is not None
    assert [(s.type_id, s.done, s.quota) for s in workload.shares()] == [("verbal", 1, 2)]


def test_a_quota_loses_no_decision(state: ReviewState) -> None:
    with writing(state.engine) as session:
        set_quota(session, state.reviewer_id, 1)
    state.recount()
    first = draw(state)
    state.accept(first)
    assert state.view().focus is None
    second = next(key for key in ids_of_verbal(state) if key != first.variant_id)
    state.pin(second)
    state.edit(draw(state), text="It is not so.")  # an edit is one variant
    assert status(state, second) is Status.SUPERSEDED
    assert state.workload is not None
    assert [(s.done, s.is_reached) for s in state.workload.shares()] == [(2, True)]
    with reading(state.engine) as session:
        assert [d.verdict for d in history(session, second)] == [Verdict.EDIT]


def ids_of_verbal(state: ReviewState) -> list[int]:
    with reading(state.engine) as session:
        return [found.id for found in session.execute(VERBAL).scalars()]


def test_a_blind_card_hides_the_status_of_its_siblings(state: ReviewState) -> None:
    draw(state)
    with reading(state.engine) as session:
        focus = state.view().focus
        assert focus is not None
        known = details_of(session, state, focus, hidden=False)
        blind = details_of(session, state, focus, hidden=True)
    assert known.siblings and not known.veiled
    assert blind.veiled == {item.variant.id for item in blind.siblings}
