"""Copy a project to another database, back it up, and check its consistency."""
