"""Recipes: validated training settings, their files, and the data and time that they need."""
