"""Changes that people make: to anchors, their attributes, variants, cues and own types."""
