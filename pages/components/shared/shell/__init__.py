"""What surrounds every page: its frame, theme, sign-in, errors, and the open project."""
