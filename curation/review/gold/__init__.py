"""Gold items: variants whose right verdict is known, to measure reviewers and to train them."""
