"""Approximate token counts; exact counts would need each model's tokenizer."""

LETTERS_PER_TOKEN = 4.0
"""Approximate number for English, according to the providers' own rule of thumb."""


def tokens(letters: float) -> int:
    """Return the approximate number of tokens in a text of this length."""
    return round(letters / LETTERS_PER_TOKEN)
