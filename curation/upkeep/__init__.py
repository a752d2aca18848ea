"""Moving a project to another database, backing it up, and checking that it agrees with itself."""
