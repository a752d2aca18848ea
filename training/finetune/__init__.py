"""Finetuning an encoder on families: optimizer, steps, checkpoints, progress."""
