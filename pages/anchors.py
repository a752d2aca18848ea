"""Anchors: the sentences that variants are made from, and adding one's own."""

from pages.components import frame
from pages.components.anchor_add import adder
from pages.components.signin import reviewer_id

frame.begin("Anchors", "Add the affirmative sentences that variants are made from.")
adder(reviewer_id())
