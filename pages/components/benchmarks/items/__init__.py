"""Single items of a benchmark: where models make errors."""
