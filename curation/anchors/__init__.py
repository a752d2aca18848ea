"""Anchors: what becomes of them, what is known about them, and how they are found."""
