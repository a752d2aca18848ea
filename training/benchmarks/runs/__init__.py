"""Benchmarks as stored runs: which models, how long they take, and carrying them out."""
