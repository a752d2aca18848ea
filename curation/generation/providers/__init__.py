"""Providers of variants: chat models, called directly or in batches, and rules."""
