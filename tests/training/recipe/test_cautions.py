"""The warnings before an unusual training run."""

from training.recipe.cautions import cautions
from training.recipe.presets import PAPER, PRESETS
from training.recipe.schema import Recipe


def test_another_pooling_than_the_base_encoders_is_pointed_out() -> None:
    assert cautions(Recipe()) == []
    (caution,) = cautions(PRESETS[PAPER].recipe)
    assert caution.startswith("Pooling is 'cls'") and "as_base" in caution
