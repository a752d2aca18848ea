"""Recipes: how to train, as a validated value; its files, and what it needs and takes."""
