"""Commands to import variants."""
