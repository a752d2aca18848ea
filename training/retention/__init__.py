"""Keeping general ability: distillation, interpolation, retention text, and the trade-off."""
