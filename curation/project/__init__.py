"""The project as a whole: its database, settings everybody shares, counts, and search."""
