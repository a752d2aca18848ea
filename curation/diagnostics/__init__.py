"""Measurements of variants: distances, surface checks, flags, and their distributions."""
