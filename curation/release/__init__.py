"""Releases: frozen sets of accepted variants, their triples, and their overlap with benchmarks."""
