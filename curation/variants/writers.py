"""Names of writers of variants other than language models."""

PERSON = "person"
"""A reviewer."""

RULES = "rules"
"""The rules of `curation.generation.providers.rules`."""
