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
