"""Parts of the Release & export page."""
