"""The mean of the weights of several runs."""

from pathlib import Path

import pytest
import torch

from curation.encoders.loading import load_encoder
from tests.training.support.recorder import Recorder
from tests.training.support.trainings import run, weights
from training.finetune.adapters import ADAPTER, add_adapter, changed_layers, merge_adapter
from training.finetune.weight_average import WeightAverage
from training.recipe.schema import Recipe


def model_with(value: float) -> torch.nn.Module:
    model = torch.nn.BatchNorm1d(2)  # it counts batches as an integer
    with torch.no_grad():
        model.weight.fill_(value)
    return model


def test_the_mean_is_of_all_trainings_and_each_begins_alike() -> None:
    model = model_with(1.0)
    soup = WeightAverage(model, 3)  # type: ignore[arg-type]
    for value in (3.0, 5.0):
        model.weight.data.fill_(value)
        soup.add(model)  # type: ignore[arg-type]
        assert model.weight.tolist() == [1.0, 1.0]
    model.weight.data.fill_(10.0)
    soup.stir(model)  # type: ignore[arg-type]
    assert model.weight.tolist() == [6.0, 6.0]
    assert model.num_batches_tracked == 0


def test_it_continues_from_a_checkpoint() -> None:
    model = model_with(1.0)
    first = WeightAverage(model, 2)  # type: ignore[arg-type]
    model.weight.data.fill_(3.0)
    first.add(model)  # type: ignore[arg-type]
    again = WeightAverage(model_with(1.0), 2)  # type: ignore[arg-type]
    again.go_on(first.state())
    assert again.added == 1
    model.weight.data.fill_(5.0)
    again.stir(model)  # type: ignore[arg-type]
    assert model.weight.tolist() == [4.0, 4.0]


def test_one_training_stays_unchanged() -> None:
    model = model_with(2.0)
    WeightAverage(model, 1).stir(model)  # type: ignore[arg-type]
    assert model.weight.tolist() == [2.0, 2.0]


def test_the_rate_falls_in_each_training_and_the_saved_weights_are_others(
    tmp_path: Path, recipe: Recipe
) -> None:
    alone, both = Recorder(), Recorder()
    changes = ["max_steps=none", "epochs=1", "interpolation=1"]
    short = recipe.with_overrides(changes)
    first = run(tmp_path / "a", short, progress=alone)
    mean = run(tmp_path / "b", short.with_overrides(["soup=2"]), progress=both)
    rates = list(both.metrics["learning_rate"].values())
    steps = alone.updates[-1][1]
    assert rates[:steps] == rates[steps:] == list(alone.metrics["learning_rate"].values())
    assert both.updates[-1] == (2 * steps, 2 * steps)
    assert weights(mean) != weights(first)


@pytest.mark.parametrize("changes", [["early_stopping=ranked"], ["max_steps=3"]])
def test_there_is_one_run_if_a_mean_is_useless(changes: list[str]) -> None:
    recipe = Recipe(soup=3)
    assert (recipe.trainings, recipe.total_steps(80)) == (3, 3 * recipe.steps(80))
    other = recipe.with_overrides(changes)
    assert (other.trainings, other.total_steps(80)) == (1, other.steps(80))


def test_the_mean_of_low_rank_changes_is_that_of_what_they_add(
    tiny_encoder: Path, tmp_path: Path
) -> None:
    """It is not the product of the mean factors, and each run begins without a change."""
    model = load_encoder(str(tiny_encoder), device="cpu")
    add_adapter(model, rank=2, seed=1)
    soup = WeightAverage(model, 2)
    name, layer = next(changed_layers(model))
    before = layer.base_layer.weight.clone()
    added = []
    for number in (1, 2):
        for factor in (layer.lora_A[ADAPTER], layer.lora_B[ADAPTER]):
            torch.nn.init.normal_(factor.weight, std=number)
        added.append(layer.get_delta_weight(ADAPTER).clone())
        if number == 1:
            soup.add(model)
            assert not layer.get_delta_weight(ADAPTER).any()
            torch.testing.assert_close(layer.base_layer.weight, before)
    soup.stir(model)
    merge_adapter(model)
    merged = dict(model.named_modules())[name.replace("base_model.model.", "")].weight
    torch.testing.assert_close(merged, before + (added[0] + added[1]) / 2)
