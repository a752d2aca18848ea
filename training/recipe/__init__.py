"""Recipes: validated training settings, the ways to give them, and the plan of their data."""
