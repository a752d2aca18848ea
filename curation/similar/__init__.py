"""Variants that are similar to a given one: stored embeddings, and looking them up."""
