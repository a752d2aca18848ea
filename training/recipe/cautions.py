"""What somebody should know before a training by a recipe, beyond what it does."""

from __future__ import annotations

from training.recipe.schema import Recipe


def cautions(recipe: Recipe) -> list[str]:
    """Sentences for people; none where there is nothing unusual."""
    found = []
    if recipe.pooling != "as_base":
        found.append(
            f"Pooling is {recipe.pooling!r}. An encoder that was published with another pooling "
            "loses general ability and needs more steps. Set pooling to 'as_base' to keep its "
            "own."
        )
    return found
