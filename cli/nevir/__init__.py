"""The commands about models that are finetuned on NevIR's pairs."""
