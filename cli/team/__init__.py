"""Commands for teams: assignment, agreement, gold items, calibration, reviewers and audit."""
