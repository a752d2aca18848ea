"""Files of anchors: from bytes to checked rows to rows in the database."""
