"""Commands for finetuning on NevIR's pairs."""
