"""Gold items: variants with a known correct verdict, to measure reviewers and to train them."""
