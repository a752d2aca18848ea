"""Batches on several threads give the results of one thread, and handle errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from curation.encoders import parallel_encoding
from curation.encoders.embeddings import encode_distinct
from curation.encoders.loading import load_encoder
from curation.encoders.parallel_encoding import for_each_batch, threads_of
from tests.training.conftest import tiny_encoder as tiny_encoder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TEXTS = [f"{'very ' * (number % 5)}good {number}" for number in range(200)]
BATCHES = range(20)


@pytest.fixture
def model(tiny_encoder: Path) -> SentenceTransformer:
    return load_encoder(str(tiny_encoder), device="cpu")


@pytest.fixture(autouse=True)
def three_cores() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    assert torch.get_num_threads() == 3
    torch.set_num_threads(before)


def test_embeddings_are_those_of_one_thread(
    model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = encode_distinct(model, TEXTS)
    monkeypatch.setattr(parallel_encoding, "MOST", 1)
    assert threads_of(model) == 1
    np.testing.assert_allclose(found, encode_distinct(model, TEXTS), atol=1e-6)


def test_each_batch_is_done_once_by_a_model_that_nobody_else_has(
    model: SentenceTransformer,
) -> None:
    taken: list[SentenceTransformer] = []
    all_at_work = threading.Barrier(3, timeout=30)
    seen, done = [], []

    def work(own: SentenceTransformer, batch: int) -> None:
        assert own not in taken
        taken.append(own)
        if batch < 3:
            all_at_work.wait()
        seen.append(batch)
        taken.remove(own)

    for_each_batch(model, BATCHES, work, done.append)
    assert sorted(seen) == list(BATCHES)
    assert done == list(BATCHES)


def test_replicas_have_the_models_own_weights(model: SentenceTransformer) -> None:
    found: set[int] = set()
    together = threading.Barrier(3, timeout=30)

    def work(own: SentenceTransformer, batch: int) -> None:
        if batch < 3:
            together.wait()
        found.update(id(weight) for weight in own.parameters())

    for_each_batch(model, BATCHES, work, lambda batch: None)
    assert found == {id(weight) for weight in model.parameters()}


@pytest.mark.parametrize("place", ["work", "done"])
def test_an_exception_ends_it(model: SentenceTransformer, place: str) -> None:
    worked: list[int] = []

    def work(own: SentenceTransformer, batch: int) -> None:
        worked.append(batch)
        time.sleep(0.001)
        if place == "work" and batch == 2:
            raise KeyError("broken")

    def done(batch: int) -> None:
        if place == "done":
            raise KeyError("cancelled")

    many = range(10_000)
    with pytest.raises(KeyError):
        for_each_batch(model, many, work, done)
    assert len(worked) < len(many)


def test_a_second_one_meanwhile_takes_one_thread(model: SentenceTransformer) -> None:
    """The number of threads per product is a setting of the process: only one task may change
    it."""
    inner: list[str] = []

    def work(own: SentenceTransformer, batch: int) -> None:
        if batch == 0:
            for_each_batch(
                model, BATCHES, lambda *_: inner.append(threading.current_thread().name), id
            )

    for_each_batch(model, BATCHES, work, lambda batch: None)
    assert len(inner) == len(BATCHES)
    assert len(set(inner)) == 1
