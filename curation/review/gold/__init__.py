"""Gold items: variants with a known right verdict, to measure reviewers and to train them."""
