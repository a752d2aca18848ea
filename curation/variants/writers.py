"""What writes variants beside language models, as the variants name it."""

PERSON = "person"
"""A reviewer."""

RULES = "rules"
"""The rules of `curation.generation.providers.rules`."""
