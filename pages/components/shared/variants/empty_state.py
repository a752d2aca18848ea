"""What a page that needs variants or anchors shows if there are none."""

import streamlit as st


def box() -> None:
    """Draw a sentence that says what to do, with a link."""
    with st.container(border=True, key="empty"):
        st.write(
            "There are no variants yet. Load the starter corpus on the Overview page, or add your "
            "own anchors and write variants of them."
        )
        st.page_link("pages/overview.py", label="Go to Overview", icon=":material/conversion_path:")


def no_anchors() -> None:
    """Draw a sentence that says what is missing, with links to add anchors."""
    with st.container(border=True, key="empty-anchors"):
        st.text("There are no anchors yet. Variants are made from anchors.")
        st.page_link(
            "pages/anchors.py",
            label="Add your own anchors",
            icon=":material/notes:",
            query_params={"part": "Add"},
        )
        st.page_link(
            "pages/overview.py",
            label="Load the starter corpus on the Overview page",
            icon=":material/conversion_path:",
        )
