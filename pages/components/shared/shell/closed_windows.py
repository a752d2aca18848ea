"""Windows that have left the review page, or are closed: their cards are free again at once."""

import streamlit as st
from sqlalchemy import Engine
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from curation.review.leases import closed_windows, release
from db.engine import writing

STATE = "review"
"""Where a session keeps its state of the review page."""


@st.cache_resource(show_spinner=False)
def _sessions() -> dict[str, str]:
    """The Streamlit session of each window that has been on the review page."""
    return {}


def enter(engine: Engine, window: str) -> None:
    """Note this window, and give back the cards of those that a reload or a crash has closed."""
    context = get_script_run_ctx()
    if context is None or not runtime.exists():  # in tests without a server
        return
    known, server = _sessions(), runtime.get_instance()
    gone = [key for key, session in known.items() if not server.is_active_session(session)]
    with writing(engine) as session:
        release(session, {*gone, *closed_windows(session)})
    for key in gone:
        known.pop(key, None)
    known[window] = context.session_id


def leave() -> None:
    """Give back the card of this session's review page, which shows another page now."""
    if (state := st.session_state.get(STATE)) is not None:
        state.leave()
