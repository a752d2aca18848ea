"""The parts of a training run."""

from pathlib import Path

import pytest
from torch.nn import Dropout

from curation.encoders.loading import load_encoder
from hedgerow.losses.families import Family
from tests.training.support.recorder import Recorder
from tests.training.support.trainings import FAMILIES
from training.finetune.fitting import Data, finetune
from training.finetune.setup import MOST_EVALUATIONS, set_dropout, steps_between_evaluations
from training.recipe.schema import Recipe


def test_evaluations_use_whole_texts_even_if_training_texts_are_cut(
    tmp_path: Path, recipe: Recipe
) -> None:
    end = " after all the years in the garden behind the old house"
    held_out: list[Family] = [
        [member._replace(text=member.text[:-1] + end) for member in family] for family in FAMILIES
    ]
    seen = Recorder()
    # The evaluations use the finetuned weights, before they are mixed with the base's.
    recipe = recipe.with_overrides(["max_seq_length=8", "interpolation=1"])
    trained = finetune(
        Data(FAMILIES, held_out), recipe=recipe, seed=1, folder=tmp_path / "run", progress=seen
    )
    evaluations = seen.metrics["cosine:negation"]
    assert evaluations[max(evaluations)] == pytest.approx(
        trained.after["cosine:negation"], abs=1e-6
    )


@pytest.mark.parametrize("epochs", [1, 3, 10, 11, 40])
def test_the_held_out_part_is_evaluated_each_epoch_but_ten_times_at_most(epochs: int) -> None:
    steps = 7
    every = steps_between_evaluations(steps, all_steps=epochs * steps)
    assert every == steps if epochs <= MOST_EVALUATIONS else every > steps
    assert len({*range(every, epochs * steps, every), epochs * steps}) <= MOST_EVALUATIONS


@pytest.mark.parametrize(("asked", "expected"), [(0.0, 0.0), (0.3, 0.3), (None, 0.1)])
def test_the_recipe_decides_the_dropout(
    tiny_encoder: Path, asked: float | None, expected: float
) -> None:
    """The tiny encoder's files set 0.1."""
    model = load_encoder(str(tiny_encoder))
    set_dropout(model, Recipe(dropout=asked))
    found = {module.p for module in model.modules() if isinstance(module, Dropout)}
    assert found == {expected}
