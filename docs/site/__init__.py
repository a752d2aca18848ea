"""The documentation site: the guides, and pages that are generated from the code."""
