"""The Review and Adjudicate pages."""
