"""The section Judges of the Generate page."""
