"""The language model side of the Train page."""
