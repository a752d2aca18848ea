"""Keeping general ability: distillation from the base encoder, and the texts for it."""
