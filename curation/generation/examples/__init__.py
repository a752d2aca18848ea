"""Few-shot examples: variants that people accepted, shown to a model in the prompt."""
