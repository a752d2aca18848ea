"""Synthetic projects of any size."""
