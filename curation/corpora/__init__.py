"""Bundled corpora, loaded like any other data."""
