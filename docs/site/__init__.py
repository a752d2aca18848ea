"""The documentation site: the guides, and pages that are made from the code."""
