"""Names of the curves of every training run. Others are in `training.evaluation.held_out`."""

from curation.encoders import embeddings

LOSS, RATE, PACE = "loss", "learning_rate", embeddings.PACE
"""Curves of the steps: mean loss, learning rate, and characters per second including the fixed cost
of a step (`STEP`)."""

STEP = 900
"""The fixed cost of a step, in characters that could be read in that time. It is mostly the update
of all weights. With the built-in encoder on a processor, steps of 2,100 to 9,000 characters took
as long as that and their texts, to within 5%."""

EPOCH = "epoch"
"""The curve of epochs done, with a point at each evaluation."""
