"""Who did what in a project, and when."""
