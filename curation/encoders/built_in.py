"""The encoders that are available on every machine."""

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
"""The encoder that is installed with Hedgerow, so that no model hub is needed."""

TRAINED_ENCODER = "hedgerow-minilm"
"""The default encoder after training with Hedgerow. It ships as an adapter."""

BUILT_IN = (DEFAULT_ENCODER, TRAINED_ENCODER)
"""Reserved names: a folder, a plug-in or a model on the Hub can't use them."""
