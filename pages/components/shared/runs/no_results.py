"""What a section of results shows before there are any."""

import streamlit as st


def box(message: str, *, section: str, key: str) -> None:
    """Draw a sentence that says what is missing, with a button to the section that creates it.

    Args:
        section: the name of a section of the same page.
        key: the key of the control that chooses the section.
    """
    with st.container(border=True, key="empty-results"):
        st.text(message)
        st.button(
            f"Go to {section}",
            key="empty-results-go",
            icon=":material/arrow_forward:",
            on_click=_open,
            args=(key, section),
        )


def _open(key: str, section: str) -> None:
    st.session_state[key] = section
