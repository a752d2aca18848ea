"""The effect of a step's gradients on the weights."""

from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from curation.encoders.loading import load_encoder
from training.finetune import optimizer as module
from training.finetune.adapters import add_adapter
from training.finetune.compute.text_encoding import embed, word_embeddings
from training.finetune.optimizer import (
    MAX_GRADIENT,
    LazyAdamW,
    clip,
    lazy_words,
    linear_schedule,
)
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

TEXTS = ("The mill is open.", "The mill is not open.", "Nobody doubts that it is open.")


@pytest.fixture
def model(tiny_encoder: Path) -> "SentenceTransformer":
    return load_encoder(str(tiny_encoder)).eval()


def recipe(**changes: object) -> Recipe:
    values = {"learning_rate": 1e-3, "dropout": 0.0, **changes}
    return Recipe.model_validate(values)


def words_of(model: "SentenceTransformer") -> "Tensor":
    words = word_embeddings(model)
    assert words is not None
    return words.weight


def pull(model: "SentenceTransformer", *, strength: float = 1.0) -> None:
    """Leave gradients in the model that pull the first text towards the others."""
    first, *others = embed(model, TEXTS)
    (-strength * sum(first @ other for other in others)).backward()


def optimizer_of(model: "SentenceTransformer", given: Recipe, *, lazy: bool = True) -> LazyAdamW:
    return LazyAdamW(model, given, words=lazy_words(model) if lazy else None)


def take_step(model: "SentenceTransformer", optimizer: LazyAdamW, *, strength: float = 1.0) -> None:
    """A step as in the trainer."""
    pull(model, strength=strength)
    clip(model.parameters())
    optimizer.step()
    optimizer.zero_grad()


def test_a_lazy_step_updates_only_the_words_of_its_batch(model: "SentenceTransformer") -> None:
    given = recipe()
    optimizer = optimizer_of(model, given)
    pull(model)
    before = words_of(model).detach().clone()
    used = words_of(model).grad
    assert used is not None
    assert used.is_sparse
    rows = set(used.coalesce().indices()[0].tolist())
    optimizer.step()
    optimizer.zero_grad()
    moved = (words_of(model).detach() != before).any(dim=1).nonzero()[:, 0].tolist()
    assert set(moved) == rows
    assert 0 < len(rows) < len(before) / 2
    assert all(weight.grad is None for weight in model.parameters())


def test_otherwise_words_that_no_step_had_decay(
    model: "SentenceTransformer", monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Apple's GPUs."""
    monkeypatch.setattr(module, "WEIGHT_DECAY", 0.5)
    optimizer = optimizer_of(model, recipe(), lazy=False)
    before = words_of(model).detach().clone()
    take_step(model, optimizer)
    assert bool((words_of(model).detach() != before).any(dim=1).sum() > 0.9 * len(before))


def test_all_gradients_are_cut_together_whether_sparse_or_not(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adam's first step has the same length for every gradient. A second step shows the
    clipping."""
    import torch

    monkeypatch.setattr(module, "WEIGHT_DECAY", 0.0)
    after = []
    for lazy in (True, False):
        model = load_encoder(str(tiny_encoder)).eval()
        optimizer = optimizer_of(model, recipe(), lazy=lazy)
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


def test_a_gradient_is_never_longer_than_it_may_be(model: "SentenceTransformer") -> None:
    import torch

    optimizer_of(model, recipe())  # its gradients of words are sparse
    pull(model, strength=1e4)
    before = clip(model.parameters())
    gradients = [
        weight.grad.coalesce().values() if weight.grad.is_sparse else weight.grad
        for weight in model.parameters()
        if weight.grad is not None
    ]
    after = torch.nn.utils.get_total_norm(gradients)
    assert float(after) == pytest.approx(MAX_GRADIENT, rel=1e-3) and before > 10


def test_words_change_equally_when_processes_add_their_gradients(tiny_encoder: Path) -> None:
    """These come as dense gradients."""
    import torch

    after = []
    for added in (False, True):
        model = load_encoder(str(tiny_encoder)).eval()
        optimizer = optimizer_of(model, recipe())
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
    import torch

    one, other = (load_encoder(str(tiny_encoder)).eval() for _ in range(2))
    first, again = (optimizer_of(model, recipe(), lazy=lazy) for model in (one, other))
    take_step(one, first)
    other.load_state_dict(one.state_dict())
    again.load_state_dict(deepcopy(first.state_dict()))  # as from a file
    for model, optimizer in ((one, first), (other, again)):
        take_step(model, optimizer, strength=0.1)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_the_rate_of_words_is_that_of_the_other_weights(
    model: "SentenceTransformer", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WARMUP", 0.5)
    optimizer = optimizer_of(model, recipe())
    schedule = linear_schedule(optimizer, steps=4)
    before, rates = words_of(model).detach().clone(), []
    for _ in range(8):  # two runs
        rates += schedule.get_last_lr()[:1]
        take_step(model, optimizer)
        schedule.step()
        if len(rates) == 1:
            assert words_of(model).equal(before)  # at a rate of 0
    assert rates == pytest.approx([0, 5e-4, 1e-3, 5e-4] * 2)
    assert not words_of(model).equal(before)


def test_words_that_are_not_trained_have_no_lazy_gradients(tiny_encoder: Path) -> None:
    adapted = load_encoder(str(tiny_encoder))
    add_adapter(adapted, rank=2, seed=1)
    assert lazy_words(adapted) is None
