"""Finetuning causal language models on the question pairs of a release (HedgeTriple, §5.2)."""
