"""What the review page does, without drawing it: keys, second opinions, and settling conflicts."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import select
from sqlmodel import col

from curation.decisions.history import history
from curation.review.browser_window import messages
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.keyboard import NOTHING, Keyboard, Shows
from curation.review.browser_window.queue_position import Panel
from curation.review.browser_window.selection import VariantSelection
from curation.review.drafts import Place
from curation.review.queue import Order, Queue
from db.engine import reading, writing
from db.models import Decision, OpinionLook, Status, Variant, Verdict
from pages.components.review import card_details
from pages.components.shared.shell import open_project
from tests.support.factories import add_opinion, judge
from tests.support.reviewing import colleague, draw, draw_same, status

CARD, NEXT = Shows("1f", 3), Shows("2f", 1)


def presses(*keys: str, on: Shows = CARD, first: int = 1) -> list[dict[str, Any]]:
    """The data that the browser sends for keys pressed one after the other on a card."""
    return [
        {"number": number, "key": key, **on._asdict()}
        for number, key in enumerate(keys, start=first)
    ]


@pytest.mark.parametrize(
    ("sent", "done", "ignored"),
    [
        # Each press counts once, however often it is sent.
        ([presses("a", "z"), presses("a", "z", "z")], ["accept", "undo", "undo"], 0),
        # A press on a card that is gone, or on another version of it, is ignored.
        (
            [
                presses("a", on=NEXT),
                presses("a", on=Shows("1f", 2), first=2),
                presses("z", on=NEXT, first=3),
            ],
            ["undo"],
            2,
        ),
        # One key acts on a card until it is redrawn.
        ([presses("a", "s", "z", "a")], ["accept", "undo"], 2),
        # Keys without a meaning do nothing.
        ([presses("constructor")], [], 0),
    ],
)
def test_only_presses_on_the_shown_card_count(
    sent: Sequence[list[dict[str, Any]]], done: list[str], ignored: int
) -> None:
    keyboard, acts = Keyboard(), list[str]()
    keyboard.show(CARD)
    keyboard.bind("a", acts.append, "accept", of_card=True)
    keyboard.bind("s", acts.append, "skip", of_card=True)
    keyboard.bind("z", acts.append, "undo")
    count = 0
    for data in sent:
        keys = list(keyboard.press(data))
        count += keys.count(None)
        for key in keys:
            if key is not None:
                key.act()
    assert (acts, count) == (done, ignored)
    assert keyboard.answered == sent[-1][-1]["number"]
    keyboard.show(NOTHING)
    assert list(keyboard.press(presses("a", "z", first=9))) == []


# -- second opinions -------------------------------------------------------------------


def looks(state: ReviewState) -> list[int]:
    with reading(state.engine) as session:
        return list(session.execute(select(col(OpinionLook.variant_id))).scalars())


def test_a_blind_reviewer_decides_before_the_opinion_is_shown_and_its_view_recorded(
    state: ReviewState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_project, "engine", lambda: state.engine)
    number = 1
    with writing(state.engine) as session:
        variant, by = session.get_one(Variant, number), judge(session)
        add_opinion(session, variant, Verdict.REJECT, reviewer_id=by)
    state.blind = True
    state.pin(number)
    card_details.ask_for_opinion(state, draw(state))
    assert state.warn and state.panel is Panel.NONE and looks(state) == []
    state.accept(draw(state))
    assert "judge" not in state.message and status(state, number) is Status.ACCEPTED
    state.pin(number)
    card = draw(state)
    card_details.ask_for_opinion(state, card)
    assert state.panel is Panel.OPINION and looks(state) == [number]
    assert [opinion.verdict for opinion in state.opinions] == [Verdict.REJECT]
    card_details.ask_for_opinion(state, card)
    assert state.panel is Panel.NONE


# -- conflicts -------------------------------------------------------------------------


@pytest.fixture
def conflict(state: ReviewState) -> int:
    """A variant that Bert accepted and Cleo rejected, and both before Ada's queue of conflicts."""
    bert, cleo = colleague(state), colleague(state, "Cleo")
    card = draw(bert)
    late = draw_same(cleo, card)
    bert.accept(card)
    cleo.reject(late, "wrong_scope")
    bert.leave()
    cleo.leave()
    state.recount()
    state.go_to(Place(Queue.CONFLICT, None, None, Order.OLDEST, by_family=False))
    return card.variant_id


def pending(state: ReviewState) -> None:
    state.go_to(Place(Queue.PENDING, "verbal", None, Order.OLDEST, by_family=False))


def said(state: ReviewState, number: int, now: Status) -> str:
    """What the card says about its decisions."""
    with reading(state.engine) as session:
        return messages.disagreement(history(session, number), now)


@pytest.mark.parametrize("way", ["queue", "family", "selection"])
def test_accepting_a_card_in_conflict_settles_it_and_undo_brings_it_back(
    state: ReviewState, conflict: int, way: str
) -> None:
    if way == "family":  # it goes on with variants of the queue
        state.go_to(Place(Queue.CONFLICT, None, None, Order.OLDEST, by_family=True))
    elif way == "selection":
        state.take(VariantSelection((conflict,), "conflicts"))
    card = draw(state)
    assert (card.variant_id, card.settles) == (conflict, True)
    assert {"Bert", "Cleo"} <= set(said(state, conflict, Status.CONFLICT).split())
    assert "wrong scope" in said(state, conflict, Status.CONFLICT)
    state.accept(card)
    assert status(state, conflict) == Status.ACCEPTED
    assert "Ada settled it" in said(state, conflict, Status.ACCEPTED)
    with reading(state.engine) as session:
        assert "settled: accept" in card_details.history_line(history(session, conflict)[-1])
    assert state.left_in(Queue.CONFLICT) == 0
    assert state.view().focus is None
    state.undo()
    assert status(state, conflict) == Status.CONFLICT
    assert draw(state).settles
    assert state.left_in(Queue.CONFLICT) == 1


def test_only_a_card_in_conflict_is_settled_and_again_by_the_next_decision(
    state: ReviewState, conflict: int
) -> None:
    state.reject(draw(state), "wrong_scope")
    assert status(state, conflict) == Status.REJECTED
    pending(state)
    card = draw(state)
    assert not card.settles
    state.accept(card)
    bert = colleague(state)
    bert.pin(conflict)
    card = draw(bert)
    assert card.settles
    bert.accept(card)
    assert status(state, conflict) == Status.ACCEPTED
    with reading(state.engine) as session:
        query = select(col(Decision.adjudicates)).order_by(col(Decision.id))
        decided = list(session.execute(query).scalars())
    assert decided == [False, False, True, False, True]


def test_blind_mode_hides_a_conflict_but_not_from_who_settles_it(
    state: ReviewState, conflict: int
) -> None:
    state.blind = True
    assert draw(state).settles
    assert not state.view().hidden
    pending(state)
    state.pin(conflict)
    card = draw(state)
    assert (card.blind, card.settles) == (True, False)
    state.accept(card)
    assert status(state, conflict) == Status.CONFLICT
