"""What a project holds: anchors, variants with their decisions, and releases."""
