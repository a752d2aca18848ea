"""Commands for deciding on variants and having models judge them."""
