"""Adding data from elsewhere: anchors, variants and the bundled corpora."""
