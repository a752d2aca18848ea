"""Tables of scores, and the data that models are measured with."""
