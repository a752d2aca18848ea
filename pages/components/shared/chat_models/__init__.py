"""Choosing a chat model, its key, and what it will cost."""
