"""The panels that open below and next to the card."""
