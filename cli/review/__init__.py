"""Commands to decide on variants, and to have models judge them."""
