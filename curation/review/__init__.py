"""Reviewing: queues, cards, decisions, rules, and undo."""
