"""Finetuning an encoder on families: losses, optimizer, steps, checkpoints."""
