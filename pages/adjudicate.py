"""Adjudicate: settle conflicts between reviewers, and see which variants to discuss."""

import streamlit as st

from curation.decisions.history import actions_since
from curation.review.browser_window.adjudicating import AdjudicationState
from curation.review.queue import Queue
from db.models import TeamRole
from pages.components.review import adjudicate_desk, adjudicate_lists
from pages.components.shared import formatting, links
from pages.components.shared.shell import current_user, frame, open_project

CONFLICTS, DISCUSS, SETTLED = "In conflict", "To discuss", "Settled"


def _state(reviewer_id: int) -> AdjudicationState:
    """The state of this session. A change of reviewer creates a new one."""
    state = st.session_state.get(frame.ADJUDICATION_STATE)
    if state is None or state.reviewer_id != reviewer_id:
        frame.leave_cards()
        state = AdjudicationState(
            engine=open_project.engine(), reviewer_id=reviewer_id, types=open_project.types()
        )
        state.pace.actions = open_project.ask(actions_since, reviewer_id, formatting.midnight())
        st.session_state[frame.ADJUDICATION_STATE] = state
        frame.release_closed_windows()
    frame.keep_window(state.screen.window)
    state.types = open_project.types()
    state.recount()
    if state.type_id not in {None, *(entry.id for entry in state.types)}:  # retired since then
        state.type_id = None
    return state


frame.begin(frame.ADJUDICATE, "Settle conflicts between reviewers.", compact=True)
if (me := current_user.reviewer_id()) is None:
    st.write("Enter your name. Your decisions are stored under it, so that you can undo them.")
    current_user.name_form("Your name", key="signin-adjudicate")
    st.stop()
current = _state(me)
with st.container(horizontal=True, vertical_alignment="center", key="controls"):
    part = frame.section((CONFLICTS, DISCUSS, SETTLED), key="part")
    adjudicate_desk.controls(current, with_order=part == CONFLICTS)
if part == DISCUSS:
    current.leave()
    adjudicate_lists.to_discuss(current)
elif part == SETTLED:
    current.leave()
    adjudicate_lists.settled_conflicts(type_id=current.type_id, source_id=current.source_id)
elif current_user.may(TeamRole.LEAD):
    adjudicate_desk.desk(current)
else:
    st.caption("Only leads can settle conflicts. You can read the cards in Review.")
    links.to_review("Open the conflicts in Review", queue=Queue.CONFLICT)
