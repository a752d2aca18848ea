"""Generates variants with a chat model or with rules: prompts, calls, answers and costs."""
