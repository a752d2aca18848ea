"""Benches: each compares a measurement with a named baseline from the same run."""
