"""What a page that needs variants says where there are none."""

import streamlit as st


def box() -> None:
    """One sentence with what to do, and the way there."""
    with st.container(border=True, key="empty"):
        st.write(
            "There are no variants yet. Load the starter corpus on the overview, or add anchors "
            "of your own and write variants of them."
        )
        st.page_link(
            "pages/overview.py", label="To the overview", icon=":material/conversion_path:"
        )


def no_anchors() -> None:
    """One sentence, and the ways to the first anchors."""
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
            label="Load the starter corpus on the Overview",
            icon=":material/conversion_path:",
        )
