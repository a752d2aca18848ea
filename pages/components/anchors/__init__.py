"""The Anchors page."""
