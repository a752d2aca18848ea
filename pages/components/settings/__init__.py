"""Panels of the Settings page."""
