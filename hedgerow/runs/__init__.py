"""Executing runs in this process, with a progress bar."""
