"""Anchors: the sentences that variants are made from, and adding one's own."""

import streamlit as st

from pages.components.anchors.adding import adder
from pages.components.anchors.browse import browser
from pages.components.shared.shell import frame
from pages.components.shared.shell.signin import reviewer_id

frame.begin(
    "Anchors", "Look through the affirmative sentences that variants are made from; add your own."
)
# Both are drawn each time: what was chosen in one is there after a look at the other.
browse, add = st.tabs(["Browse", "Add"], key="part", bind="query-params", on_change="rerun")
with browse:
    browser(reviewer_id())
with add:
    adder(reviewer_id())
