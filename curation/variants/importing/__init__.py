"""Import variants from elsewhere, with their anchors, types, cues and verdicts."""
