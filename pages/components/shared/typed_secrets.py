"""Secrets that a user types in. They are kept in the session only, and never sent back to the
browser."""

from typing import Any

import streamlit as st


def typed(name: str) -> str:
    """The secret with this name; '' for none."""
    found: str = st.session_state.get(_key(name), "")
    return found


def entered(name: str, text: str, *, key: str) -> bool:
    """If there is a secret, say so with a button that removes it. Whether there is one."""
    if not typed(name):
        return False
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(text, width="content")
        st.button(
            "Remove",
            key=key,
            type="tertiary",
            on_click=st.session_state.pop,
            args=(_key(name), None),
        )
    return True


def box(label: str, name: str, *, key: str, **more: Any) -> None:
    """A box that takes a secret and empties itself.

    Args:
        more: as for ``st.text_input``.
    """
    st.text_input(
        label,
        key=key,
        type="password",
        autocomplete="off",
        on_change=_keep,
        args=(key, name),
        **more,
    )


def _keep(key: str, name: str) -> None:
    if given := st.session_state[key].strip():
        st.session_state[_key(name)] = given
    st.session_state[key] = ""


def _key(name: str) -> str:
    return f"typed-{name}"
