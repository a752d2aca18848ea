"""Training runs: requesting, executing, comparing and deleting them."""
