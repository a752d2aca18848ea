"""The Judges section of the Generate page."""
