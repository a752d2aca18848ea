"""The cards of a calibration sample: blind for each person until they have decided."""

import pytest
from sqlalchemy import select
from sqlmodel import col

from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.selection import VariantSelection, sample_selection
from curation.review.calibration.sample import SampleRequest, address_name
from curation.review.history import history
from curation.review.opinions.stored import show_opinions
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Variant
from tests.support.factories import add_opinion, draw_sample, judge
from tests.support.reviewing import VERBAL, colleague, draw


def drawn(state: ReviewState) -> str:
    with writing(state.engine) as session:
        sample = draw_sample(session, SampleRequest(size=2, types=("verbal",)))
    return address_name(sample.id)


def opened(state: ReviewState, name: str) -> VariantSelection:
    with reading(state.engine) as session:
        found = sample_selection(session, name, state.reviewer_id)
    assert found is not None
    state.take(found)
    return found


def test_each_person_goes_through_the_sample_blind_whatever_others_decided(
    state: ReviewState,
) -> None:
    name = drawn(state)
    bert = colleague(state)
    selection = opened(state, name)
    assert not state.blind
    for _ in selection.ids:
        card, view = draw(state), state.view()
        assert card.blind and card.variant_id in view.hidden and view.focus is not None
        with reading(state.engine) as session:
            assert "in a sample" in state.why_veiled(session, view.focus.variant)
        state.reject(card, "wrong_scope")
    assert state.view().focus is None
    theirs = opened(bert, name)
    assert theirs.open == set(selection.ids)
    card = draw(bert)
    assert card.blind and not card.settles
    bert.accept(card)
    assert "Before you, Ada rejected it" in bert.message
    with reading(state.engine) as session:
        assert all(d.blind for d in history(session, card.variant_id))
    bert.undo()
    assert bert.selection is not None and bert.selection.open == set(selection.ids)


def test_in_the_queue_its_cards_are_blind_too_and_the_others_are_not(state: ReviewState) -> None:
    name = drawn(state)
    with reading(state.engine) as session:
        found = sample_selection(session, name, state.reviewer_id)
        assert found is not None
        inside = set(found.ids)
        every = [variant.id for variant in session.execute(VERBAL).scalars()]
    for variant_id in every:
        state.pin(variant_id)
        assert draw(state).blind is (variant_id in inside)


def test_the_opinion_on_such_a_card_is_shown_after_your_decision(state: ReviewState) -> None:
    with writing(state.engine) as session:
        variant = session.execute(select(Variant).where(col(Variant.type_id) == "verbal")).scalars()
        for one in variant.all():
            add_opinion(session, one, reviewer_id=judge(session))
    opened(state, drawn(state))
    card = draw(state)
    with writing(state.engine) as session, pytest.raises(HedgerowError, match="after you have"):
        show_opinions(session, card.variant_id, reviewer_id=state.reviewer_id, own_first=card.blind)
