"""Calibration: measure on a blind random sample how far models' verdicts can be trusted."""
