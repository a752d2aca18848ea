"""Which kind of model the train page is about: a text encoder or a language model."""

import streamlit as st

from pages.components.shared.shell import frame

KIND = "kind"
"""Key of the choice, and its name in the address."""

ENCODER, LANGUAGE = KINDS = ("Text encoder", "Language model")


def choose() -> str:
    """Draw the choice; one of `KINDS`."""
    return frame.section(KINDS, key=KIND, label="Kind of model")


def show_language() -> None:
    """Go to the language models; for callbacks."""
    st.session_state[KIND] = LANGUAGE
