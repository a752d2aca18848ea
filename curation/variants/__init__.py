"""Variants that people write or change, and the checks while they write."""
