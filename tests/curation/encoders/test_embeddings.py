"""Embeddings of distinct texts: equal to the model's own, each text encoded once, on any number of
threads; and how much text there is to read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from curation.encoders import embeddings as embeddings_module
from curation.encoders.embeddings import (
    MARKS,
    PER_TOKEN,
    characters,
    encode_distinct,
    for_each_batch,
    length,
    pair_cosines,
    threads_of,
)
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER
from db.errors import HedgerowError
from tests.training.conftest import tiny_encoder as tiny_encoder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TEXTS = [
    "Global warming is real.",
    "Global warming is a hoax.",
    "The bridesmaids are smiling at the photographer, who has forgotten to take off the lens cap.",
    "No.",
    "Global warming is real.",
]
FURTHER = [f"Bridge number {number} is safe." for number in range(70)]
"""With these, there are more texts than fit into a batch."""
BATCHES = range(20)


@pytest.fixture
def model(tiny_encoder: Path) -> SentenceTransformer:
    return load_encoder(str(tiny_encoder), device="cpu")


@pytest.fixture
def encoded(model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The texts of each call of the model's method."""
    batches: list[list[str]] = []
    encode = type(model).encode

    def counting(self: Any, texts: list[str], **options: Any) -> Any:
        batches.append(list(texts))
        return encode(self, texts, **options)

    monkeypatch.setattr(type(model), "encode", counting)
    return batches


@pytest.mark.slow
def test_the_default_encoders_cosine_of_the_papers_pair() -> None:
    """The value for this model in the reference tables (Figure 1)."""
    (cosine,) = pair_cosines(load_encoder(DEFAULT_ENCODER, device="cpu"), [(TEXTS[0], TEXTS[1])])
    assert cosine == pytest.approx(0.872, abs=0.001)


def test_embeddings_are_unit_length_and_the_models_own_in_any_company(
    model: SentenceTransformer,
) -> None:
    found = encode_distinct(model, TEXTS)
    expected = model.encode(TEXTS, batch_size=1, normalize_embeddings=True)
    assert found.shape == (5, 32) and found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    for company in ([], FURTHER):
        backwards = encode_distinct(model, [*company, *TEXTS[::-1]])[: -len(TEXTS) - 1 : -1]
        np.testing.assert_allclose(backwards, expected, atol=1e-5)
    assert encode_distinct(model, []).shape == (0, 32) and pair_cosines(model, []).shape == (0,)


def test_each_distinct_text_is_encoded_once_and_longest_first(
    model: SentenceTransformer, encoded: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings_module, "MOST", 1)
    texts = TEXTS + FURTHER
    seen: list[tuple[int, int]] = []
    pairs = [(TEXTS[0], text) for text in texts] * 3
    pair_cosines(model, pairs, on_progress=lambda done, total: seen.append((done, total)))
    assert [len(batch) for batch in encoded] == [64, 10]
    flat = [text for batch in encoded for text in batch]
    assert sorted(flat) == sorted(set(texts))
    assert (flat[0], flat[-1]) == (max(texts, key=len), min(texts, key=len))
    assert seen == [(0, 74), (64, 74), (74, 74)]


def test_cosines_come_in_the_order_of_the_pairs_and_in_chunks(
    model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings_module, "COSINE_CHUNK", 2)
    rows = encode_distinct(model, TEXTS)
    cosines = pair_cosines(model, [(one, other) for one in TEXTS for other in TEXTS])
    np.testing.assert_allclose(cosines.reshape(5, 5), rows @ rows.T, atol=1e-5)
    assert cosines.max() <= 1.0


def test_not_finite_embeddings_are_refused(model: SentenceTransformer) -> None:
    import torch

    with torch.no_grad():
        model[0].auto_model.embeddings.LayerNorm.bias.fill_(float("nan"))
    with pytest.raises(HedgerowError, match="finite"):
        encode_distinct(model, TEXTS)


# -- on several threads ---------------------------------------------------------------------------


@pytest.fixture
def three_cores() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    assert torch.get_num_threads() == 3
    torch.set_num_threads(before)


@pytest.mark.usefixtures("three_cores")
def test_embeddings_are_those_of_one_thread(
    model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{'very ' * (number % 5)}good {number}" for number in range(200)]
    found = encode_distinct(model, texts)
    monkeypatch.setattr(embeddings_module, "MOST", 1)
    assert threads_of(model) == 1
    np.testing.assert_allclose(found, encode_distinct(model, texts), atol=1e-6)


@pytest.mark.usefixtures("three_cores")
def test_each_batch_is_done_once_by_a_replica_with_the_models_own_weights(
    model: SentenceTransformer,
) -> None:
    taken: list[SentenceTransformer] = []
    all_at_work = threading.Barrier(3, timeout=30)
    seen, done, weights = [], [], set()

    def work(own: SentenceTransformer, batch: int) -> None:
        assert own not in taken
        taken.append(own)
        if batch < 3:
            all_at_work.wait()
        seen.append(batch)
        weights.update(id(weight) for weight in own.parameters())
        taken.remove(own)

    for_each_batch(model, BATCHES, work, done.append)
    assert sorted(seen) == done == list(BATCHES)
    assert weights == {id(weight) for weight in model.parameters()}


@pytest.mark.usefixtures("three_cores")
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

    with pytest.raises(KeyError):
        for_each_batch(model, range(10_000), work, done)
    assert len(worked) < 10_000


@pytest.mark.usefixtures("three_cores")
def test_a_second_one_meanwhile_takes_one_thread(model: SentenceTransformer) -> None:
    """The number of threads per product is a setting of the process: only one task may change
    it."""
    inner: list[threading.Thread] = []

    def work(own: SentenceTransformer, batch: int) -> None:
        if batch == 0:
            for_each_batch(model, BATCHES, lambda *_: inner.append(threading.current_thread()), id)

    for_each_batch(model, BATCHES, work, lambda batch: None)
    assert len(inner) == len(BATCHES) and len(set(inner)) == 1


def test_a_text_counts_by_its_letters_and_the_marks_at_its_ends_until_it_is_truncated() -> None:
    assert characters(["It rains.", "Über allem."]) == 9 + 11 + 2 * MARKS
    assert characters([]) == 0
    assert length(1_000, longest=100) == 100 * PER_TOKEN
    assert length(50, longest=100) == 50 + MARKS
    assert characters(["x" * 1_000, "y" * 10], longest=100) == round(100 * PER_TOKEN) + 10 + MARKS
