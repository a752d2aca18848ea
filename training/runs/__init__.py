"""The kinds of runs, and cancelling and deleting runs."""
