"""The Diagnostics page."""
