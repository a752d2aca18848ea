"""Windows that have left the review page, or are closed: their cards are free again at once."""

import streamlit as st

from curation.review.leases import release_closed
from pages.components.shared.shell import open_project

STATE = "review"
"""Where a session keeps its state of the review page."""

_closed: set[str] = set()
"""Windows of sessions that have ended; they may have left a card."""


@st.cache_resource(scope="session", show_spinner=False, on_release=_closed.add)
def _open(window: str) -> str:
    """Kept as long as the session is connected: a reload or a crash of the browser ends it."""
    return window


def stay(window: str) -> None:
    """Note that this window is open, also after its connection was lost for a while."""
    _open(window)
    _closed.discard(window)


def is_open(window: str) -> bool:
    """Whether a window that this server shows is open still."""
    return window not in _closed


def give_back() -> None:
    """Give back the cards of windows that are closed."""
    gone = set(_closed)
    _closed.difference_update(gone)
    open_project.tell(release_closed, gone)


def leave() -> None:
    """Give back the card of this session's review page, which shows another page now."""
    if (state := st.session_state.get(STATE)) is not None:
        state.leave()
