"""How every page begins."""

from collections.abc import Sequence

import streamlit as st

from pages.components.shared.formatting import markup
from pages.components.shared.shell import closed_windows, navigation

REVIEW = "Review"
ADJUDICATE = "Adjudicate"
"""The titles of the pages whose card is given back when another page comes."""

_CARDS = {REVIEW: closed_windows.STATE, ADJUDICATE: closed_windows.ADJUDICATION}

_APP_RAN = "app_ran"

# Held keys, the slash, editors and their drafts; a page that lost its server for a while is drawn
# again.
_scripts = st.components.v2.component(
    "hedgerow_page",
    js=markup.script(*(f"shared/scripts/{name}.js" for name in ("typing", "editor", "page"))),
)


def app_runs() -> None:
    """Called by app.py once somebody may read, so that pages know that it was."""
    st.session_state[_APP_RAN] = True


def begin(title: str, purpose: str, *, compact: bool = False) -> None:
    """Draw the page's title and, in one sentence, what it is for.

    Args:
        compact: both in one line at the very top, where the page needs its room.

    The first visitor of a fresh server who opens a page by its address gets the page's file run
    without app.py, since Streamlit takes ``pages/`` for its older kind of navigation until somebody
    has called ``st.navigation``. So it is called here, and the run goes again through app.py.
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
    """The choice of a section, for a page that has several; the first unless the address names one.

    Args:
        key: of the choice in the session and in the address.
        label: what is chosen, for who can't see it.
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
