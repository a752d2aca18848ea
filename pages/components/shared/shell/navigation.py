"""The app's window, and its pages in the order of the data flow."""

from pathlib import Path

import streamlit as st

_ICON, _LOGO = (str(Path(__file__).with_name(name)) for name in ("icon.svg", "logo.svg"))

_SIDEBAR = 248
"""Width in pixels: fits the longest page name and leaves the rest to narrow windows."""


def show() -> st.Page:
    """Set up the window and list the pages in its sidebar. Return the page to run."""
    # Our own pictures, because Streamlit would fetch its page icons from another server, and the
    # app must not make requests to any other server.
    st.set_page_config(
        page_title="Hedgerow",
        page_icon=_ICON,
        layout="wide",
        initial_sidebar_state=_SIDEBAR,
    )
    st.logo(_LOGO, icon_image=_ICON)
    return st.navigation(
        [
            st.Page(
                "pages/overview.py",
                title="Overview",
                icon=":material/conversion_path:",
                default=True,
            ),
            st.Page("pages/anchors.py", title="Anchors", icon=":material/notes:"),
            st.Page("pages/generate.py", title="Generate", icon=":material/edit_note:"),
            st.Page("pages/review.py", title="Review", icon=":material/rate_review:"),
            st.Page("pages/adjudicate.py", title="Adjudicate", icon=":material/balance:"),
            st.Page("pages/team.py", title="Team", icon=":material/groups:"),
            st.Page("pages/diagnostics.py", title="Diagnostics", icon=":material/bar_chart:"),
            st.Page("pages/release.py", title="Release & export", icon=":material/inventory_2:"),
            st.Page("pages/train.py", title="Train", icon=":material/model_training:"),
            st.Page("pages/compare.py", title="Compare", icon=":material/compare_arrows:"),
            st.Page("pages/benchmarks.py", title="Benchmarks", icon=":material/leaderboard:"),
            st.Page("pages/taxonomy.py", title="Taxonomy", icon=":material/category:"),
            st.Page("pages/settings.py", title="Settings", icon=":material/settings:"),
        ],
        expanded=True,  # otherwise the last pages are behind "View more"
    )
