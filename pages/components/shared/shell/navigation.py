"""The window of the app, and its pages in the order of the data."""

from pathlib import Path

import streamlit as st

_ICON, _LOGO = (str(Path(__file__).with_name(name)) for name in ("icon.svg", "logo.svg"))

_SIDEBAR = 248
"""Pixels: as wide as the longest page name; a narrow window needs the rest."""


def show() -> st.Page:
    """Set up the window and list the pages in its sidebar; returns the page to be run."""
    # Our own pictures: the page icons that Streamlit names are fetched from a server of its maker's
    # choice, and nothing here may ask anybody else for anything.
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
        expanded=True,  # it would hide the last pages behind "View more"
    )
