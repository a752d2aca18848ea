"""Import of anchor files: from bytes to checked rows to database rows."""
