"""The Hub's access token: from the environment or a login, or typed in for this session.

A typed token is only kept in the session, and a run's process gets it through its environment. It
is stored nowhere and never sent back to the browser.
"""

import streamlit as st

from db.settings import HUB_TOKEN
from training.hub.publishing import token_source

_TYPED = "hub_typed_token"
_SOURCES = {
    "environment": f"Access token: set in the environment ({HUB_TOKEN}).",
    "login": "Access token: from the login on this machine (hf auth login).",
}


def environment() -> dict[str, str]:
    """Environment variables for a push's process."""
    typed: str = st.session_state.get(_TYPED, "")
    return {HUB_TOKEN: typed} if typed else {}


def is_set() -> bool:
    """Whether there is a token."""
    return bool(environment() or token_source())


def draw(place: str) -> None:
    """Show the source of the token, with a box to enter one or a button to remove it.

    Args:
        place: distinguishes this box from others.
    """
    if environment():
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text("Access token: entered for this session.", width="content")
            st.button("Remove", key=f"hub-forget-{place}", type="tertiary", on_click=_forget)
        return
    if source := token_source():
        st.text(_SOURCES[source])
    box = f"hub-token-{place}"
    st.text_input(
        "Another access token, for this session only"
        if source
        else "Access token, for this session only",
        key=box,
        type="password",
        autocomplete="off",
        on_change=_keep,
        args=(box,),
        placeholder="hf_…",
        width=480,
        help="A token with write access from your settings on the Hub. To set it for all sessions, "
        f"use {HUB_TOKEN} in the environment. It is never stored in the database or a log.",
    )


def _keep(box: str) -> None:
    if typed := st.session_state[box].strip():
        st.session_state[_TYPED] = typed
    st.session_state[box] = ""


def _forget() -> None:
    st.session_state.pop(_TYPED, None)
