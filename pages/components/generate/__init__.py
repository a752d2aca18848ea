"""Parts of the Generate page."""
