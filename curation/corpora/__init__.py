"""Corpora that ship with Hedgerow, loaded like any other data."""
