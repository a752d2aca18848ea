"""Training an encoder, and its trade-off of negation against general ability afterwards."""
