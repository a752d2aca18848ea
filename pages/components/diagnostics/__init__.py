"""Parts of the Diagnostics page."""
