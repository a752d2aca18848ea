"""Anchors: the sentences that variants are made from; adding some, with variants or without."""

import streamlit as st

from pages.components.anchors.adding import adder
from pages.components.anchors.browse import browser
from pages.components.anchors.corpora_section import corpora
from pages.components.anchors.variants_section import importer
from pages.components.shared.shell import frame
from pages.components.shared.shell.signin import reviewer_id

frame.begin(
    "Anchors",
    "Look through the affirmative sentences that variants are made from; add your own, import "
    "variants with them, or load a corpus.",
)
browse, add, variants, bundled = st.tabs(
    ["Browse", "Add", "Import variants", "Corpora"],
    key="part",
    bind="query-params",
    on_change="rerun",
)
# These are drawn each time: what was chosen in one is there after a look at another.
with browse:
    browser(reviewer_id())
with add:
    adder(reviewer_id())
with variants:
    importer()
if bundled.open:  # it keeps no choices, and its counts take time
    with bundled:
        corpora()
