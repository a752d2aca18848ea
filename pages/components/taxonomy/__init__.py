"""Parts of the Taxonomy page."""
