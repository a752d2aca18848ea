"""Storage: the tables, the engine, the settings, and the rows of long work."""
