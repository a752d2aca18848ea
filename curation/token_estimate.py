"""Approximate token counts; exact counts would need each model's tokenizer."""

LETTERS_PER_TOKEN = 4.0
"""Of English, about; what providers tell their customers to reckon with."""


def tokens(letters: float) -> int:
    """Of so many letters, about."""
    return round(letters / LETTERS_PER_TOKEN)
