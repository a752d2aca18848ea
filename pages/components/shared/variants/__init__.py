"""How variants and guidelines are drawn, and the warnings while somebody writes a variant."""
