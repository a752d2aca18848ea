"""The optional HTTP interface for other tools, under ``/api``."""
