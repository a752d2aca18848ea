"""Reviewing: queues, decisions, what they add up to, and taking them back."""
