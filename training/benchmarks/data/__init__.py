"""Where a benchmark's items come from, and how its files are read."""
