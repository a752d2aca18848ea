"""Triples to a measured encoder: recipe, finetuning, similarities."""
