"""Review: one variant at a time, or an anchor's whole family, decided with the keyboard."""

import streamlit as st

from curation.history import actions_since
from db.engine import reading
from pages.components import frame, markup, project, review_queue, signin
from pages.components.clock import midnight
from pages.components.review_desk import desk
from pages.components.review_selection import SELECTION, picked
from pages.components.review_state import ReviewState

_BLIND_COOKIE, _GUIDE_COOKIE = "hedgerow_blind", "hedgerow_guide"


def _state(reviewer_id: int) -> ReviewState:
    """This session's state; another reviewer begins anew."""
    state = st.session_state.get("review")
    if state is None or state.reviewer_id != reviewer_id:
        state = ReviewState(engine=project.engine(), reviewer_id=reviewer_id, types=project.types())
        state.recount()
        state.type_id = state.first_pending_type()
        state.guide = st.context.cookies.get(_GUIDE_COOKIE) != "hidden"
        with reading(state.engine) as session:
            state.pace.actions = actions_since(session, reviewer_id, midnight())
        st.session_state["review"] = state
    _follow_taxonomy(state)
    return state


def _follow_taxonomy(state: ReviewState) -> None:
    """Types may have been added or retired since the last time."""
    before, state.types = state.types, project.types()
    ids = {entry.id for entry in state.types}
    if ids != {entry.id for entry in before}:
        state.recount()
    if state.type_id not in {None, *ids}:
        state.type_id = state.first_pending_type()
        state.restart()


def _follow_address(state: ReviewState) -> None:
    """Take up what the address names: a variant, a selection, blind mode; each once."""
    seen = st.session_state.setdefault("review_address", {})
    for name, follow in (("variant", state.open_link), (SELECTION, lambda v: _pick(state, v))):
        value = st.query_params.get(name)
        if value and value != seen.get(name):
            follow(value)
        seen[name] = value
    _keep_blind(state)


def _pick(state: ReviewState, name: str) -> None:
    found = picked(name)
    if found is None:
        st.query_params.pop(SELECTION, None)
        state.say("That selection is no longer kept; make it anew where it came from.", warn=True)
    else:
        state.take(found)


def _keep_blind(state: ReviewState) -> None:
    """Blind mode survives a reload and a walk to another page: by the address and by a cookie."""
    if not st.session_state.get("review_blind_read"):
        st.session_state["review_blind_read"] = True
        asked = st.query_params.get("blind")
        state.blind = (asked or st.context.cookies.get(_BLIND_COOKIE)) == "1"
    if state.blind != (st.query_params.get("blind") == "1"):
        if state.blind:
            st.query_params["blind"] = "1"
        else:
            st.query_params.pop("blind", None)


frame.begin("Review", "Decide variant by variant whether it is what its type promises.")
if (me := signin.reviewer_id()) is None:
    st.write("Decisions are stored under a name, so that they can be told apart and taken back.")
    signin.name_form("Your name", key="signin-review")
    st.stop()
current = _state(me)
_follow_address(current)
review_queue.follow_next_type()
review_queue.controls(current)
desk(current)
markup.remember(_BLIND_COOKIE, "1" if current.blind else "0")
markup.remember(_GUIDE_COOKIE, "shown" if current.guide else "hidden")
