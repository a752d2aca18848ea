"""Parts of the Anchors page."""
