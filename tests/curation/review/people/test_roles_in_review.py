"""Roles on the review page: reviewers settle no conflicts, and viewers only read."""

from typing import Any

from sqlalchemy import Engine, select
from sqlmodel import col

from curation.review import actions
from curation.review.assignment.planning import assign
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.reading import ReadingState
from curation.review.leases import on_other_screens
from curation.review.people.roles import Role, set_who_acts
from curation.review.queue import Queue
from curation.taxonomy.project_types import list_types
from db.engine import reading, writing
from db.models import Decision, ReviewPosition, Status
from tests.curation.review.people.support.acting import VIEWER, Ids, act_as, content, shown_card
from tests.support.databases import both_databases

pytestmark = both_databases


def _types(engine: Engine) -> list[Any]:
    with reading(engine) as session:
        return list_types(session)


def test_a_reviewer_decides_on_conflicts_without_settling_them(engine: Engine, people: Ids) -> None:
    with writing(engine) as session:
        for who, verdict in ((Role.LEAD, actions.accept), (Role.VIEWER, actions.reject)):
            more = {"reason": "wrong_scope"} if verdict is actions.reject else {}
            verdict(session, shown_card(session, people), reviewer_id=people[who], **more)
    act_as(engine, people[Role.REVIEWER])
    state = ReviewState(engine=engine, reviewer_id=people[Role.REVIEWER], types=_types(engine))
    state.recount()
    state.queue = Queue.CONFLICT
    view = state.view()
    assert view.focus is not None and view.focus.variant.status is Status.CONFLICT
    shown = state.showings[people["verbal"]]
    assert not shown.settles
    state.drawn[shown.action_id] = 0.0
    state.accept(shown)
    assert state.view().focus is None  # it is still in conflict, and does not come back
    with reading(engine) as session:
        mine = select(Decision).where(col(Decision.reviewer_id) == people[Role.REVIEWER])
        last = session.execute(mine.order_by(col(Decision.id).desc())).scalars().first()
    assert last is not None and last.variant_id == people["verbal"] and not last.adjudicates


def test_a_viewer_reads_card_after_card_and_leaves_no_trace(engine: Engine, people: Ids) -> None:
    before = content(engine)
    act_as(engine, people[Role.VIEWER])
    state = ReadingState(engine=engine, reviewer_id=people[Role.VIEWER], types=_types(engine))
    seen = []
    while (focus := state.view().focus) is not None:
        seen.append(focus.variant.id)
        state.go_on()
    assert len(seen) == len(set(seen)) == 6  # one of the seven is decided
    state.pin(people["lexical"])
    assert state.view().focus is not None
    state.leave()
    set_who_acts(None)
    assert content(engine) == before
    with reading(engine) as session:
        assert on_other_screens(session, "another window") == {}
        assert session.execute(select(ReviewPosition)).first() is None


def test_roles_hold_while_several_people_decide_on_each_variant(
    engine: Engine, people: Ids
) -> None:
    with writing(engine) as session:
        assign(session, reviewers=2, share=1.0)
        actions.accept(session, shown_card(session, people), reviewer_id=people[Role.LEAD])
    act_as(engine, people[Role.VIEWER])
    for by_family in (False, True):
        reader = ReadingState(engine=engine, reviewer_id=people[Role.VIEWER], types=_types(engine))
        reader.by_family = by_family
        assert reader.view().focus is not None
    act_as(engine, people[Role.REVIEWER])
    state = ReviewState(engine=engine, reviewer_id=people[Role.REVIEWER], types=_types(engine))
    state.recount()
    decided = 0
    while (focus := state.view().focus) is not None:
        shown = state.showings[focus.variant.id]
        state.drawn[shown.action_id] = 0.0
        state.accept(shown)
        decided += 1
    assert decided == 6  # including the one that the lead has begun, without their own


def test_a_viewers_keys_decide_nothing(engine: Engine, people: Ids) -> None:
    """If a key of the review page ever reached the library, it would show this sentence."""
    before = content(engine)
    act_as(engine, people[Role.VIEWER])
    state = ReviewState(engine=engine, reviewer_id=people[Role.VIEWER], types=_types(engine))
    with reading(engine) as session:
        shown = shown_card(session, people)
    state.drawn[shown.action_id] = 0.0
    for press in (
        lambda: state.accept(shown),
        lambda: state.reject(shown, "wrong_scope"),
        lambda: state.edit(shown, text="The bridge isn't safe."),
        lambda: state.note(shown, "A note."),
        lambda: state.mark(shown, "Why?"),
    ):
        state.message = ""
        press()
        assert state.message.startswith(VIEWER)
    set_who_acts(None)
    assert content(engine) == before
