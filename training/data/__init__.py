"""Training data: families of a release, and sampling of batches."""
