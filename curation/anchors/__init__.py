"""Anchors: their revisions, search, and checks of their texts."""
