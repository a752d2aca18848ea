"""Which encoders there are to train or measure, and how large they are."""
