"""Measurements: each prints a ratio against a named baseline, taken in the same run."""
