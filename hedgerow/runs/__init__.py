"""Long work, carried out in this process with its progress shown."""
