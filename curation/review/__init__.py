"""Reviewing: queues, decisions, the statuses that follow from them, and undo."""
