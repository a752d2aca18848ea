"""The provider's key: from the environment, or typed in for this session.

A typed key is kept in the session alone and reaches a run's process through its environment. It is
stored nowhere, and never sent back to the browser.
"""

import streamlit as st

from pages.components import project

VARIABLE = "HEDGEROW_OPENAI_API_KEY"
"""The environment variable that the run's process reads the key from."""

_TYPED, _BOX = "generate_typed_key", "generate-key"


def environment() -> dict[str, str]:
    """What a run's process finds in its environment beside the settings."""
    typed = st.session_state.get(_TYPED, "")
    return {VARIABLE: typed} if typed else {}


def is_set() -> bool:
    """Whether there is a key."""
    return bool(environment() or project.settings().openai_api_key.get_secret_value())


def draw(place: str = "") -> None:
    """Say whether a key is set; let one be typed in, or forgotten.

    Args:
        place: tells these boxes from others on the same page.
    """
    if environment():
        with st.container(
            horizontal=True, vertical_alignment="center", key=f"generate-key-typed{place}"
        ):
            st.text("Key: typed in for this session.", width="content")
            st.button(
                "Forget it", key=f"generate-key-forget{place}", type="tertiary", on_click=_forget
            )
        return
    if is_set():
        st.text(f"Key: set in the environment ({VARIABLE}).")
        return
    st.text_input(
        "Key, for this session only", key=_BOX + place, type="password", autocomplete="off",
        on_change=_keep, args=(_BOX + place,), placeholder="Servers of your own mostly need none",
        help=f"To have it for all sessions, set {VARIABLE} in the environment or in .env. It is "
        "stored in no database and no log.",
    )  # fmt: skip


def _keep(box: str) -> None:
    st.session_state[_TYPED] = st.session_state[box].strip()
    st.session_state[box] = ""


def _forget() -> None:
    st.session_state.pop(_TYPED, None)
