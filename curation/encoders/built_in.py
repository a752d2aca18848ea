"""The encoders that are on every machine."""

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
"""The encoder that is installed with Hedgerow, so that no model hub is needed."""

TRAINED_ENCODER = "hedgerow-minilm"
"""The default encoder as Hedgerow has trained it: an adapter comes with Hedgerow."""

BUILT_IN = (DEFAULT_ENCODER, TRAINED_ENCODER)
"""Their names. A folder, a plug-in or a model on the Hub never has them."""
