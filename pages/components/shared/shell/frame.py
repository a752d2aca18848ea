"""The start of every page: title, style sheet and scripts."""

from collections.abc import Sequence

import streamlit as st

from pages.components.shared.formatting import markup
from pages.components.shared.shell import closed_windows, navigation

REVIEW = "Review"
ADJUDICATE = "Adjudicate"
"""Titles of the pages that release their cards when the user goes to another page."""

_CARDS = {REVIEW: closed_windows.STATE, ADJUDICATE: closed_windows.ADJUDICATION}

_APP_RAN = "app_ran"

# These scripts handle held keys, the slash, editors with their drafts, and lost connections, after
# which they redraw the page.
_scripts = st.components.v2.component(
    "hedgerow_page",
    js=markup.script(*(f"shared/scripts/{name}.js" for name in ("typing", "editor", "page"))),
)


def app_runs() -> None:
    """Record that app.py has run; it calls this when the user may read the project."""
    st.session_state[_APP_RAN] = True


def begin(title: str, purpose: str, *, compact: bool = False) -> None:
    """Draw the title of the page and a sentence on its purpose.

    If the first visitor of a new server opens a page by its URL, Streamlit runs the page's file
    without app.py: it takes ``pages/`` for its older kind of navigation until somebody has called
    ``st.navigation``. So this function calls it and starts the run again through app.py.

    Args:
        compact: put both in one line at the very top, on a page that needs the space.
    """
    if not st.session_state.get(_APP_RAN):
        navigation.show()
        st.rerun()
    closed_windows.leave(but=_CARDS.get(title, ""))
    with st.container(key="head-compact" if compact else "head"):
        st.title(title, anchor=False)
        st.caption(purpose)
    markup.style()
    _scripts(key="page-scripts", on_returned_change=lambda: None)


def section(names: Sequence[str], *, key: str, label: str = "Section") -> str:
    """Draw the choice of a section. Return the chosen one, by default the first.

    Args:
        key: of the choice in the session and in the URL.
        label: the name of the choice for screen readers.
    """
    chosen: str | None = st.segmented_control(
        label,
        names,
        key=key,
        default=names[0],
        required=True,
        bind="query-params",
        label_visibility="collapsed",
    )
    return chosen or names[0]
