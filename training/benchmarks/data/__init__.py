"""The sources of a benchmark's items, and reading its files."""
