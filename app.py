"""The browser app: page config, sign-in, navigation."""

import streamlit as st

from pages.components.shared.shell import error_messages, frame, signin

frame.app_runs()
error_messages.guard_callbacks()
# Our own pictures: the page icons that Streamlit names are fetched from a server of its maker's
# choice, and nothing here may ask anybody else for anything.
st.set_page_config(
    page_title="Hedgerow",
    page_icon=str(frame.ICON),
    layout="wide",
    initial_sidebar_state=frame.SIDEBAR,
)
st.logo(str(frame.LOGO), icon_image=str(frame.ICON))

PAGES = [
    st.Page("pages/overview.py", title="Overview", icon=":material/conversion_path:", default=True),
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

page = st.navigation(PAGES)
with error_messages.shown_as_one_sentence():
    error_messages.show_callback_errors()
    signin.sidebar()
    page.run()
