"""Benchmark runs: models, time estimates, and execution."""
