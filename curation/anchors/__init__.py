"""Anchors: import, lookup, correction and retirement."""
