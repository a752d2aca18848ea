"""Agreement: how far people agree on variants with verdicts from several people."""
