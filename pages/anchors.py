"""Anchors: browse and add the sentences that variants are made from, with or without variants."""

import streamlit as st

from pages.components.anchors.adding import adder
from pages.components.anchors.browse import browser
from pages.components.anchors.corpora_section import corpora
from pages.components.anchors.variants_section import importer
from pages.components.shared.shell import current_user, frame

frame.begin(
    "Anchors",
    "Browse the affirmative sentences that variants are made from, add your own, import them "
    "with variants, or load a corpus.",
)
browse, add, variants, bundled = st.tabs(
    ["Browse", "Add", "Import variants", "Corpora"],
    key="part",
    bind="query-params",
    on_change="rerun",
)
# Every part is rendered each time, so that switching parts keeps what was chosen.
with browse:
    browser(current_user.reviewer_id())
with add:
    adder()
with variants:
    importer()
if bundled.open:  # it has no choices to keep, and its counts take time
    with bundled:
        corpora()
