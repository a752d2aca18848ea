"""The pages of the app, in the order of the data."""

import streamlit as st


def show() -> st.Page:
    """Show the pages in the sidebar; the one that is asked for, to be run."""
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
            st.Page("pages/diagnostics.py", title="Diagnostics", icon=":material/bar_chart:"),
            st.Page("pages/release.py", title="Release & export", icon=":material/inventory_2:"),
            st.Page("pages/train.py", title="Train", icon=":material/model_training:"),
            st.Page("pages/compare.py", title="Compare", icon=":material/compare_arrows:"),
            st.Page("pages/benchmarks.py", title="Benchmarks", icon=":material/leaderboard:"),
            st.Page("pages/taxonomy.py", title="Taxonomy", icon=":material/category:"),
            st.Page("pages/settings.py", title="Settings", icon=":material/settings:"),
        ]
    )
