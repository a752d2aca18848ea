"""The models that can be trained or measured, and their names."""
