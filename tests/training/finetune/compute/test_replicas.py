"""Several threads that share a step's texts give the gradients of one, reproducibly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest
import torch

from curation.encoders.loading import load_encoder
from db.errors import RunCancelled
from tests.training.support.recorder import Recorder
from tests.training.support.trainings import run, weights
from training.finetune.compute import replicas
from training.finetune.compute.devices import computing
from training.finetune.compute.replicas import Threads, threads_for
from training.finetune.compute.text_encoding import embed
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TEXTS = [f"{'very ' * (number % 5 * 6)}good {number}" for number in range(40)]


@pytest.fixture
def model(tiny_encoder: Path) -> SentenceTransformer:
    model = load_encoder(str(tiny_encoder), device="cpu")
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return model.train()


@pytest.fixture
def three(model: SentenceTransformer) -> Iterator[Threads]:
    three = Threads(model, 3)
    yield three
    three.close()


@pytest.fixture
def two_cores() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def gradients(
    model: SentenceTransformer, together: Threads | None, *, bf16: bool = False
) -> dict[str, torch.Tensor]:
    """The gradients of a loss in which every text is compared with every other."""
    with computing(model, bf16=bf16):
        found = embed(model, TEXTS, threads=together)
    (found @ found.T).pow(3).sum().backward()
    grown = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return grown


def test_the_gradients_are_those_of_one_thread(model: SentenceTransformer, three: Threads) -> None:
    expected, found = gradients(model, None), gradients(model, three)
    assert expected.keys() == found.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("bf16", [False, True])
def test_they_are_the_same_each_time(
    model: SentenceTransformer, three: Threads, bf16: bool
) -> None:
    first = gradients(model, three, bf16=bf16)
    for _ in range(5):
        again = gradients(model, three, bf16=bf16)
        assert all(torch.equal(again[name], gradient) for name, gradient in first.items())


def test_bfloat16_is_the_callers_and_stays_within(
    model: SentenceTransformer, three: Threads
) -> None:
    plain, half = gradients(model, three), gradients(model, three, bf16=True)
    name = next(iter(plain))
    assert not torch.equal(plain[name], half[name])
    for _ in range(5):  # whichever thread takes which part of the backward pass
        assert torch.equal(gradients(model, three)[name], plain[name])
        gradients(model, three, bf16=True)


def test_replicas_follow_the_weights_and_frozen_ones_get_no_gradient(
    model: SentenceTransformer,
) -> None:
    frozen = next(name for name, _ in model.named_parameters())
    model.get_parameter(frozen).requires_grad = False
    three = Threads(model, 3)
    before = gradients(model, three)
    with torch.no_grad():
        for weight in model.parameters():
            weight *= 0.9
    after = gradients(model, three)
    assert frozen not in after
    expected = gradients(model, None)
    for name, gradient in expected.items():
        torch.testing.assert_close(after[name], gradient, rtol=1e-3, atol=1e-4)
        if bool(gradient.abs().max() > 1e-3):
            assert not torch.equal(before[name], after[name])
    three.close()


def test_stopping_stops_all_threads(
    model: SentenceTransformer, three: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicas, "CHECK_SECONDS", 0.0)
    before = torch.get_num_threads()
    forward, asked = type(model).forward, Event()

    def patient(self: SentenceTransformer, features: dict[str, torch.Tensor]) -> object:
        assert asked.wait(60)  # otherwise all may be done before the check
        return forward(self, features)

    def stop() -> None:
        asked.set()
        raise RunCancelled

    monkeypatch.setattr(type(model), "forward", patient)
    with pytest.raises(RunCancelled):
        embed(model, TEXTS, threads=three, check=stop)
    assert torch.get_num_threads() == before
    assert gradients(model, three), "they can be used again"


def test_failures_in_a_thread_are_reported(
    model: SentenceTransformer, three: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: object, features: object) -> None:
        raise RuntimeError("not enough memory")

    monkeypatch.setattr(type(model), "forward", fails)
    with pytest.raises(RuntimeError, match="not enough memory"):
        embed(model, TEXTS, threads=three)


def test_there_are_as_many_as_have_something_to_do(
    model: SentenceTransformer, two_cores: None
) -> None:
    several = threads_for(model, Recipe())
    assert several is not None and several.count == 2
    several.close()
    assert threads_for(model, Recipe(dropout=0.1)) is None, (
        "threads would use the generator in any order"
    )
    assert threads_for(model, Recipe(dropout=None)) is None
    torch.set_num_threads(1)
    assert threads_for(model, Recipe()) is None


def test_a_training_with_threads_has_equal_weights_each_time(
    tmp_path: Path, recipe: Recipe, two_cores: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[int] = []
    together = Threads.encode

    def seen(self: Threads, *given: object) -> list[torch.Tensor]:
        used.append(self.count)
        return together(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Threads, "encode", seen)
    still = recipe.with_overrides(["dropout=0", "batch_size=4"])
    first = run(tmp_path / "a", still, progress=Recorder())
    again = run(tmp_path / "b", still, progress=Recorder())
    assert set(used) == {2}
    assert weights(first) == weights(again)
