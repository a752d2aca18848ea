"""Commands to copy, back up, restore and check a project."""
