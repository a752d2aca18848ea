"""Importing variants that were made elsewhere, with their anchors, types, cues and verdicts."""
