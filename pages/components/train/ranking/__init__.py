"""Finetuning on NevIR's pairs: asking for it, following it, comparing what came out."""
