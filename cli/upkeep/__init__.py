"""The commands that move a project, back it up and check it."""
