"""Projects of any size, made up for measuring."""
