"""Calibration: how far the verdicts of models can be trusted, by a blind random sample."""
