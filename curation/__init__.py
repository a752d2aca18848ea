"""Sentences to curated triples: taxonomy, diagnostics, review, releases, export."""
