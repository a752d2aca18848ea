"""What opens below and next to the card."""
