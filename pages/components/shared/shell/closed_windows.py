"""Release the cards of windows that were closed or that left a page with cards."""

import streamlit as st

from curation.decisions.leases import release_closed
from curation.decisions.roles import for_the_project
from pages.components.shared.shell import open_project

STATE = "review"
"""Session key of the Review page's state."""

ADJUDICATION = "adjudication"
"""Session key of the Adjudicate page's state."""

_closed: set[str] = set()
"""Windows of ended sessions, which may still hold cards."""


@st.cache_resource(scope="session", show_spinner=False, on_release=_closed.add)
def _open(window: str) -> str:
    """Cached while the session is connected. A reload or a crash of the browser ends it."""
    return window


def stay(window: str) -> None:
    """Record that this window is open, also after a lost connection has come back."""
    _open(window)
    _closed.discard(window)


def is_open(window: str) -> bool:
    """Whether a window of this server is still open."""
    return window not in _closed


def give_back() -> None:
    """Release the cards of closed windows."""
    gone = set(_closed)
    _closed.difference_update(gone)
    open_project.tell_for_the_project(release_closed, gone)


def leave(*, but: str = "") -> None:
    """Release the cards of this session's other pages, because it now shows another page.

    Args:
        but: session key of the state of the page that it shows.
    """
    for name in (STATE, ADJUDICATION):
        if name != but and (state := st.session_state.get(name)) is not None:
            with for_the_project():  # the person may have become a viewer
                state.leave()
