"""Commands for anchors."""
