"""Agreement: how far people agree on variants with verdicts of several people."""
