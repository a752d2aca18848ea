"""The Taxonomy page."""
