"""Single items of a benchmark: where models err."""
