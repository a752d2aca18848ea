"""The parts of the page Release & export."""
