"""Models that a project trains and evaluates."""
