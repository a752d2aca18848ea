"""What a step's gradients do to the weights."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from curation.encoders.loading import load_encoder
from training.finetune.adapters import add_adapter
from training.finetune.compute.text_encoding import embed, word_embeddings
from training.finetune.optimizer import MAX_GRADIENT, ScheduledOptimizer, lazy_words
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

TEXTS = ("The mill is open.", "The mill is not open.", "Nobody doubts that it is open.")


@pytest.fixture
def model(tiny_encoder: Path) -> "SentenceTransformer":
    return load_encoder(str(tiny_encoder)).eval()


def recipe(**changes: object) -> Recipe:
    values = {"learning_rate": 1e-3, "warmup_ratio": 0.0, "dropout": 0.0, **changes}
    return Recipe.model_validate(values)


def words_of(model: "SentenceTransformer") -> "Tensor":
    words = word_embeddings(model)
    assert words is not None
    return words.weight


def pull(model: "SentenceTransformer", *, strength: float = 1.0) -> None:
    """Leave gradients in the model that draw the first text to the others."""
    first, *others = embed(model, TEXTS)
    (-strength * sum(first @ other for other in others)).backward()


def optimizer_of(model: "SentenceTransformer", given: Recipe) -> ScheduledOptimizer:
    return ScheduledOptimizer(model, given, steps=10, words=lazy_words(model, given))


def test_lazily_a_step_moves_its_own_words_alone(model: "SentenceTransformer") -> None:
    given = recipe()
    optimizer = optimizer_of(model, given)
    pull(model)
    before = words_of(model).detach().clone()
    used = words_of(model).grad
    assert used is not None
    assert used.is_sparse
    rows = set(used.coalesce().indices()[0].tolist())
    optimizer.step()
    moved = (words_of(model).detach() != before).any(dim=1).nonzero()[:, 0].tolist()
    assert set(moved) == rows
    assert 0 < len(rows) < len(before) / 2
    assert all(weight.grad is None for weight in model.parameters())


def test_otherwise_words_that_no_step_had_decay(model: "SentenceTransformer") -> None:
    optimizer = optimizer_of(model, recipe(lazy_word_embeddings=False, weight_decay=0.5))
    before = words_of(model).detach().clone()
    pull(model)
    optimizer.step()
    assert bool((words_of(model).detach() != before).any(dim=1).sum() > 0.9 * len(before))


def test_all_gradients_are_cut_together_whether_sparse_or_not(tiny_encoder: Path) -> None:
    """A first step of Adam is as long whatever the gradient; what the cut does, a second shows."""
    import torch

    after = []
    for lazy in (True, False):
        model = load_encoder(str(tiny_encoder)).eval()
        given = recipe(lazy_word_embeddings=lazy, weight_decay=0.0)
        optimizer = optimizer_of(model, given)
        for strength in (1e3, 1e-1):
            pull(model, strength=strength)
            optimizer.step()
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
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    optimizer = optimizer_of(model, recipe())
    lengths = []

    def note(optimizer: object, *_: object) -> None:
        gradients = [
            weight.grad.coalesce().values() if weight.grad.is_sparse else weight.grad
            for weight in model.parameters()
            if weight.grad is not None
        ]
        lengths.append(float(torch.nn.utils.get_total_norm(gradients)))

    handle = register_optimizer_step_pre_hook(note)
    try:
        pull(model, strength=1e4)
        optimizer.step()
    finally:
        handle.remove()
    assert lengths[0] == pytest.approx(MAX_GRADIENT, rel=1e-3)


def test_words_that_are_not_trained_have_no_lazy_gradients(tiny_encoder: Path) -> None:
    model = load_encoder(str(tiny_encoder))
    assert lazy_words(model, recipe(lazy_word_embeddings=False)) is None
    adapted = load_encoder(str(tiny_encoder))
    add_adapter(adapted, rank=2, seed=1)
    assert lazy_words(adapted, recipe(lora_rank=2)) is None
    words_of(model).requires_grad_(False)
    assert lazy_words(model, recipe()) is None
