"""Studies on the Train page."""
