"""What a page that needs variants shows if there are none."""

import streamlit as st


def box() -> None:
    """Draw a sentence that says what to do, with a link."""
    with st.container(border=True, key="empty"):
        st.write(
            "There are no variants yet. Load the starter corpus on the Overview page, or add your "
            "own anchors and write variants of them."
        )
        st.page_link("pages/overview.py", label="Go to Overview", icon=":material/conversion_path:")
