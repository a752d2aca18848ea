"""Variants from a chat model or from rules: prompts, calls, answers, what they cost."""
