"""The commands about anchors."""
