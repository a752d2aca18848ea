"""Shared by all commands: the terminal, tables, options and the project."""
