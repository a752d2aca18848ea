"""What the commands share: the terminal, tables, options, and the project they work on."""
