"""The HTTP interface for other tools: what is under ``/api`` when the app is asked to have it."""
