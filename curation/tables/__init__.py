"""Read tables of all formats: one way from bytes to rows, each with its place in the file."""
