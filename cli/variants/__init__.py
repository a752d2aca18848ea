"""Importing variants, from the terminal."""
