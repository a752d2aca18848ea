"""Finetuning on NevIR's pairs: starting it, following it, comparing the results."""
