"""Language models: the questions that they are finetuned on, finetuning, and measuring."""
