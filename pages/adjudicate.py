"""Adjudicate: settle conflicts between reviewers, and see which variants to discuss."""

import streamlit as st

from curation.decisions.history import actions_since
from curation.decisions.roles import Role
from curation.review.browser_window.adjudicating import AdjudicationState
from curation.review.queue import Queue
from pages.components.adjudicate import desk, lists
from pages.components.shared import links
from pages.components.shared.formatting.clock import midnight
from pages.components.shared.shell import closed_windows, frame, open_project, rights, signin
from pages.components.shared.shell.closed_windows import ADJUDICATION

CONFLICTS, DISCUSS, SETTLED = "In conflict", "To discuss", "Settled"


def _state(reviewer_id: int) -> AdjudicationState:
    """The state of this session. A change of reviewer creates a new one."""
    state = st.session_state.get(ADJUDICATION)
    if state is None or state.reviewer_id != reviewer_id:
        closed_windows.leave()
        state = AdjudicationState(
            engine=open_project.engine(), reviewer_id=reviewer_id, types=open_project.types()
        )
        state.pace.actions = open_project.ask(actions_since, reviewer_id, midnight())
        st.session_state[ADJUDICATION] = state
        closed_windows.give_back()
    closed_windows.stay(state.screen.window)
    state.types = open_project.types()
    state.recount()
    if state.type_id not in {None, *(entry.id for entry in state.types)}:  # retired since then
        state.type_id = None
    return state


frame.begin(frame.ADJUDICATE, "Settle conflicts between reviewers.", compact=True)
if (me := signin.reviewer_id()) is None:
    st.write("Enter your name. Your decisions are stored under it, so that you can undo them.")
    signin.name_form("Your name", key="signin-adjudicate")
    st.stop()
current = _state(me)
with st.container(horizontal=True, vertical_alignment="center", key="controls"):
    part = frame.section((CONFLICTS, DISCUSS, SETTLED), key="part")
    desk.controls(current, with_order=part == CONFLICTS)
if part == DISCUSS:
    current.leave()
    lists.to_discuss(current)
elif part == SETTLED:
    current.leave()
    lists.settled_conflicts(type_id=current.type_id, source_id=current.source_id)
elif rights.may(Role.LEAD):
    desk.desk(current)
else:
    st.caption("Only leads can settle conflicts. You can read the cards in Review.")
    links.to_review("Open the conflicts in Review", queue=Queue.CONFLICT)
