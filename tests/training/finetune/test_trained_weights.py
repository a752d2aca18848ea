"""What training does to the weights: an optimizer's step, LoRA, and the mean of several runs."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from curation.encoders.embeddings import encode_distinct
from curation.encoders.loading import load_encoder
from db.errors import HedgerowError
from tests.training.support.lazily import Lazily
from tests.training.support.trainings import recorder, run, weights
from training.finetune.compute.text_encoding import embed, word_embeddings
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

    from training.finetune.weights import LazyAdamW

torch = Lazily("torch")
parts = Lazily("training.finetune.weights")


TEXTS = ("The mill is open.", "The mill is not open.", "Nobody doubts that it is open.")


@pytest.fixture
def model(tiny_encoder: Path) -> SentenceTransformer:
    return load_encoder(str(tiny_encoder)).eval()


STEADY = Recipe(learning_rate=1e-3, dropout=0.0)


def words_of(model: SentenceTransformer) -> Tensor:
    words = word_embeddings(model)
    assert words is not None
    return words.weight


def pull(model: SentenceTransformer, *, strength: float = 1.0) -> None:
    """Leave gradients in the model that pull the first text towards the others."""
    first, *others = embed(model, TEXTS)
    (-strength * sum(first @ other for other in others)).backward()


def optimizer_of(model: SentenceTransformer, *, lazy: bool = True) -> LazyAdamW:
    return parts.LazyAdamW(model, STEADY, words=parts.lazy_words(model) if lazy else None)


def take_step(model: SentenceTransformer, optimizer: LazyAdamW, *, strength: float = 1.0) -> None:
    """A step as in the trainer."""
    pull(model, strength=strength)
    parts.clip(model.parameters())
    optimizer.step()
    optimizer.zero_grad()


def test_a_lazy_step_updates_only_the_words_of_its_batch(model: SentenceTransformer) -> None:
    optimizer = optimizer_of(model)
    pull(model)
    before = words_of(model).detach().clone()
    used = words_of(model).grad
    assert used is not None and used.is_sparse
    rows = set(used.coalesce().indices()[0].tolist())
    optimizer.step()
    optimizer.zero_grad()
    moved = (words_of(model).detach() != before).any(dim=1).nonzero()[:, 0].tolist()
    assert set(moved) == rows and 0 < len(rows) < len(before) / 2
    assert all(weight.grad is None for weight in model.parameters())


def test_otherwise_words_that_no_step_had_decay(
    model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Apple's GPUs."""
    monkeypatch.setattr("training.finetune.weights.WEIGHT_DECAY", 0.5)
    optimizer = optimizer_of(model, lazy=False)
    before = words_of(model).detach().clone()
    take_step(model, optimizer)
    assert bool((words_of(model).detach() != before).any(dim=1).sum() > 0.9 * len(before))


def test_all_gradients_are_cut_together_whether_sparse_or_not(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adam's first step has the same length for every gradient. A second step shows the
    clipping."""
    monkeypatch.setattr("training.finetune.weights.WEIGHT_DECAY", 0.0)
    after = []
    for lazy in (True, False):
        model = load_encoder(str(tiny_encoder)).eval()
        optimizer = optimizer_of(model, lazy=lazy)
        for strength in (1e3, 1e-1):
            take_step(model, optimizer, strength=strength)
        after.append({name: value.detach().clone() for name, value in model.named_parameters()})
    name = next(key for key in after[0] if key.endswith("word_embeddings.weight"))
    for key in set(after[0]) - {name}:
        torch.testing.assert_close(after[0][key], after[1][key], rtol=1e-4, atol=1e-6)
    seen = word_rows(tiny_encoder)
    torch.testing.assert_close(after[0][name][seen], after[1][name][seen], rtol=1e-3, atol=2e-5)


def word_rows(encoder: Path) -> list[int]:
    ids = load_encoder(str(encoder)).tokenizer(list(TEXTS))["input_ids"]
    return sorted({number for own in ids for number in own})


def test_a_gradient_is_never_longer_than_it_may_be(model: SentenceTransformer) -> None:
    optimizer_of(model)  # its gradients of words are sparse
    pull(model, strength=1e4)
    before = parts.clip(model.parameters())
    gradients = [
        weight.grad.coalesce().values() if weight.grad.is_sparse else weight.grad
        for weight in model.parameters()
        if weight.grad is not None
    ]
    after = torch.nn.utils.get_total_norm(gradients)
    assert float(after) == pytest.approx(parts.MAX_GRADIENT, rel=1e-3) and before > 10


def test_words_change_equally_when_processes_add_their_gradients(tiny_encoder: Path) -> None:
    """These come as dense gradients."""
    after = []
    for added in (False, True):
        model = load_encoder(str(tiny_encoder)).eval()
        optimizer = optimizer_of(model)
        pull(model)
        if added:
            words = words_of(model)
            assert words.grad is not None
            words.grad = words.grad.to_dense()
        optimizer.step()
        after.append(words_of(model).detach().clone())
    torch.testing.assert_close(after[0], after[1], rtol=0, atol=1e-7)


@pytest.mark.parametrize("lazy", [True, False])
def test_a_checkpoint_continues_in_the_same_way(tiny_encoder: Path, lazy: bool) -> None:
    one, other = (load_encoder(str(tiny_encoder)).eval() for _ in range(2))
    first, again = (optimizer_of(model, lazy=lazy) for model in (one, other))
    take_step(one, first)
    other.load_state_dict(one.state_dict())
    again.load_state_dict(deepcopy(first.state_dict()))  # as from a file
    for model, optimizer in ((one, first), (other, again)):
        take_step(model, optimizer, strength=0.1)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_the_rate_of_words_is_that_of_the_other_weights(
    model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.finetune.weights.WARMUP", 0.5)
    optimizer = optimizer_of(model)
    schedule = parts.linear_schedule(optimizer, steps=4)
    before, rates = words_of(model).detach().clone(), []
    for _ in range(8):  # two runs
        rates += schedule.get_last_lr()[:1]
        take_step(model, optimizer)
        schedule.step()
        if len(rates) == 1:
            assert words_of(model).equal(before)  # at a rate of 0
    assert rates == pytest.approx([0, 5e-4, 1e-3, 5e-4] * 2) and not words_of(model).equal(before)


def test_words_that_are_not_trained_have_no_lazy_gradients(tiny_encoder: Path) -> None:
    adapted = load_encoder(str(tiny_encoder))
    parts.add_adapter(adapted, rank=2, seed=1)
    assert parts.lazy_words(adapted) is None


def test_a_new_adapter_changes_nothing_and_only_it_is_trained(tiny_encoder: Path) -> None:
    model = load_encoder(str(tiny_encoder), device="cpu")
    texts = ["The kettle is old.", "The kettle is not old."]
    before, names = encode_distinct(model, texts), set(model.state_dict())
    parts.add_adapter(model, rank=2, seed=1)
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert trained and all("lora_" in name for name in trained)
    np.testing.assert_allclose(encode_distinct(model, texts), before, atol=1e-6)
    parts.merge_adapter(model)
    assert set(model.state_dict()) == names and all(p.requires_grad for p in model.parameters())


@pytest.mark.slow
def test_an_encoder_without_a_transformer_is_refused() -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import BoW

    model = SentenceTransformer(modules=[BoW(["old", "new"])], device="cpu")
    with pytest.raises(HedgerowError, match="lora_rank"):
        parts.add_adapter(model, rank=2, seed=1)


def model_with(value: float) -> torch.nn.Module:
    model = torch.nn.BatchNorm1d(2)  # it counts batches as an integer
    with torch.no_grad():
        model.weight.fill_(value)
    return model


def test_the_mean_is_of_all_trainings_and_each_begins_alike() -> None:
    model = model_with(1.0)
    soup = parts.WeightAverage(model, 3)
    for value in (3.0, 5.0):
        model.weight.data.fill_(value)
        soup.add(model)
        assert model.weight.tolist() == [1.0, 1.0]
    again = parts.WeightAverage(model_with(1.0), 3)  # as from a checkpoint
    again.go_on(soup.state())
    assert again.added == 2
    for one in (soup, again):
        model.weight.data.fill_(10.0)
        one.stir(model)
        assert model.weight.tolist() == [6.0, 6.0]
    assert model.num_batches_tracked == 0
    alone = model_with(2.0)
    parts.WeightAverage(alone, 1).stir(alone)
    assert alone.weight.tolist() == [2.0, 2.0]


def test_the_rate_falls_in_each_training_and_the_saved_weights_are_others(
    tmp_path: Path, recipe: Recipe
) -> None:
    alone, both = recorder(), recorder()
    changes = ["max_steps=none", "epochs=1", "interpolation=1"]
    short = recipe.with_overrides(changes)
    first = run(tmp_path / "a", short, progress=alone)
    mean = run(tmp_path / "b", short.with_overrides(["soup=2"]), progress=both)
    rates = list(both.metrics["learning_rate"].values())
    steps = alone.updates[-1][1]
    assert rates[:steps] == rates[steps:] == list(alone.metrics["learning_rate"].values())
    assert both.updates[-1] == (2 * steps, 2 * steps) and weights(mean) != weights(first)


def test_there_is_one_run_if_a_mean_is_useless() -> None:
    recipe = Recipe(soup=3)
    assert (recipe.trainings, recipe.total_steps(80)) == (3, 3 * recipe.steps(80))
    for change in ("early_stopping=ranked", "max_steps=3"):
        other = recipe.with_overrides([change])
        assert (other.trainings, other.total_steps(80)) == (1, other.steps(80))


def test_the_mean_of_low_rank_changes_is_that_of_what_they_add(
    tiny_encoder: Path, tmp_path: Path
) -> None:
    """It is not the product of the mean factors, and each run begins without a change."""
    model = load_encoder(str(tiny_encoder), device="cpu")
    parts.add_adapter(model, rank=2, seed=1)
    soup = parts.WeightAverage(model, 2)
    name, layer = next(parts.changed_layers(model))
    before = layer.base_layer.weight.clone()
    added = []
    for number in (1, 2):
        for factor in (layer.lora_A[parts.ADAPTER], layer.lora_B[parts.ADAPTER]):
            torch.nn.init.normal_(factor.weight, std=number)
        added.append(layer.get_delta_weight(parts.ADAPTER).clone())
        if number == 1:
            soup.add(model)
            assert not layer.get_delta_weight(parts.ADAPTER).any()
            torch.testing.assert_close(layer.base_layer.weight, before)
    soup.stir(model)
    parts.merge_adapter(model)
    merged = dict(model.named_modules())[name.replace("base_model.model.", "")].weight
    torch.testing.assert_close(merged, before + (added[0] + added[1]) / 2)
