"""Variant types, both built in and a project's own: their checks, cues and guidelines."""
