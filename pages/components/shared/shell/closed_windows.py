"""Windows that have left a page with cards, or are closed: their cards are free again at once."""

import streamlit as st

from curation.review.leases import release_closed
from curation.review.people.roles import for_the_project
from pages.components.shared.shell import open_project

STATE = "review"
"""Where a session keeps its state of the review page."""

ADJUDICATION = "adjudication"
"""Where it keeps its state of the page on which conflicts are settled."""

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
    open_project.tell_for_the_project(release_closed, gone)


def leave(*, but: str = "") -> None:
    """Give back the cards of this session's pages; it shows another page now.

    Args:
        but: where the session keeps the state of the page that it shows.
    """
    for name in (STATE, ADJUDICATION):
        if name != but and (state := st.session_state.get(name)) is not None:
            with for_the_project():  # they may be a viewer by now
                state.leave()
