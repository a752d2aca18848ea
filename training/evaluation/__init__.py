"""Similarities before and after: probes, held-out families, and scored sentence pairs."""
