"""Formatting of texts, times and diffs; the only code that emits HTML."""
