"""Names of the curves that every training has; others are in `training.evaluation.held_out`."""

LOSS, RATE, PACE = "loss", "learning_rate", "texts_per_second"
"""Curves of the steps: mean loss, learning rate, and texts encoded per second."""

EPOCH = "epoch"
"""The curve of epochs done, with a point at each evaluation."""
