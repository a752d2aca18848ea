"""Results of training runs."""
