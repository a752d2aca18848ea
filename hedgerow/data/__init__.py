"""The data of a project: anchors, variants with their decisions, and releases."""
