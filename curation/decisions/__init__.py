"""Decisions on variants: their rows, the statuses that follow, and who may decide what."""
