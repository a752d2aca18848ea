"""The models that can be trained or measured, their names, and their sizes."""
