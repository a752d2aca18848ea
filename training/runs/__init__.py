"""Trainings as stored runs: asked for, carried out, compared, deleted."""
