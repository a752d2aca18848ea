"""Reads tables of variants row by row, from all formats, including other programs' nested ones."""
