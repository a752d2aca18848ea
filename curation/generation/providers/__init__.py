"""What writes variants: chat models, one call at a time or in batches, and rules."""
