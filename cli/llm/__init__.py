"""Language models: questions for finetuning, finetuning, and evaluation."""
