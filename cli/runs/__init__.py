"""Commands for stored runs: carry out, list, cancel, delete."""
