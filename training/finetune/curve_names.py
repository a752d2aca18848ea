"""Names of the curves that every training has; others are in `training.evaluation.held_out`."""

from curation.encoders import reading_pace

LOSS, RATE, PACE = "loss", "learning_rate", reading_pace.PACE
"""Curves of the steps: mean loss, learning rate, and how many characters were read in a second, the
work of the steps themselves (`STEP`) included."""

STEP = 900
"""Characters that could be read in the time that a step takes whatever its texts are, mostly to
move all weights. With the built-in encoder on a processor, steps of 2,100 to 9,000 characters took
as long as that and their texts, to within 5%."""

EPOCH = "epoch"
"""The curve of epochs done, with a point at each evaluation."""
