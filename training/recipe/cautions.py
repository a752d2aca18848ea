"""Warnings about unusual recipes, shown before training."""

from __future__ import annotations

from training.recipe.schema import Recipe


def cautions(recipe: Recipe) -> list[str]:
    """Warnings in full sentences; empty for a usual recipe."""
    found = []
    if recipe.pooling != "as_base":
        found.append(
            f"Pooling is {recipe.pooling!r}. An encoder that was published with another pooling "
            "loses general ability and needs more steps. Set pooling to 'as_base' to keep its "
            "own."
        )
    return found
