"""Embeddings of distinct texts: equal to the model's own, and each text is encoded once."""

from __future__ import annotations

import numpy as np
import pytest

from curation.encoders import embeddings as embeddings_module
from curation.encoders.embeddings import encode_distinct, pair_cosines
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER
from db.errors import HedgerowError

TEXTS = [
    "Global warming is real.",
    "Global warming is a hoax.",
    "The bridesmaids are smiling at the photographer, who has forgotten to take off the lens cap.",
    "No.",
    "Global warming is real.",
]
FURTHER = [f"Bridge number {number} is safe." for number in range(70)]
"""With these, there are more texts than fit into a batch."""


@pytest.fixture(scope="module")
def minilm():
    return load_encoder(DEFAULT_ENCODER, device="cpu")


class CountingEncoder:
    """The real model, which records each call of encode."""

    def __init__(self, model) -> None:
        self._model = model
        self.batches: list[list[str]] = []

    def __getattr__(self, name: str):
        return getattr(self._model, name)

    def encode(self, texts: list[str], **options):
        self.batches.append(list(texts))
        return self._model.encode(texts, **options)


@pytest.fixture
def counting(minilm) -> CountingEncoder:
    return CountingEncoder(minilm)


def test_known_cosine_of_the_papers_pair(minilm):
    """The value for this model in the reference tables (Figure 1)."""
    (cosine,) = pair_cosines(minilm, [("Global warming is real.", "Global warming is a hoax.")])
    assert cosine == pytest.approx(0.872, abs=0.001)


def test_embeddings_are_unit_length_and_equal_the_models_own(minilm):
    embeddings = encode_distinct(minilm, TEXTS)
    expected = minilm.encode(TEXTS, batch_size=1, normalize_embeddings=True)
    assert embeddings.shape == (5, 384)
    assert embeddings.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(embeddings, expected, atol=1e-5)


def test_a_texts_embedding_does_not_depend_on_its_company(minilm):
    alone = np.vstack([encode_distinct(minilm, [text]) for text in TEXTS])
    for company in ([], FURTHER):
        backwards = encode_distinct(minilm, [*company, *TEXTS[::-1]])[: -len(TEXTS) - 1 : -1]
        np.testing.assert_allclose(backwards, alone, atol=1e-5)


def test_each_distinct_text_is_encoded_once_and_longest_first(counting):
    texts = TEXTS + FURTHER
    pair_cosines(counting, [(TEXTS[0], text) for text in texts] * 3)
    encoded = [text for batch in counting.batches for text in batch]
    assert sorted(encoded) == sorted(set(texts))
    assert [len(batch) for batch in counting.batches] == [64, 10]
    assert encoded[0] == max(texts, key=len) and encoded[-1] == min(texts, key=len)


def test_progress_counts_distinct_texts(minilm):
    seen: list[tuple[int, int]] = []
    encode_distinct(
        minilm, TEXTS + FURTHER, on_progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(0, 74), (64, 74), (74, 74)]


def test_a_raising_progress_callback_stops_the_encoding(counting):
    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_distinct(counting, TEXTS + FURTHER, on_progress=stop)
    assert len(counting.batches) == 1


def test_cosines_come_in_the_order_of_the_pairs_and_in_chunks(minilm, monkeypatch):
    monkeypatch.setattr(embeddings_module, "COSINE_CHUNK", 2)
    pairs = [(TEXTS[i], TEXTS[j]) for i in range(5) for j in range(5)]
    embeddings = encode_distinct(minilm, TEXTS)
    cosines = pair_cosines(minilm, pairs)
    np.testing.assert_allclose(cosines.reshape(5, 5), embeddings @ embeddings.T, atol=1e-5)
    assert cosines.max() <= 1.0


def test_nothing_to_encode_gives_empty_arrays(minilm):
    assert encode_distinct(minilm, []).shape == (0, 384)
    assert pair_cosines(minilm, []).shape == (0,)


def test_not_finite_embeddings_are_refused():
    import torch

    broken = load_encoder(DEFAULT_ENCODER, device="cpu")
    with torch.no_grad():
        broken[0].auto_model.embeddings.LayerNorm.bias.fill_(float("nan"))
    with pytest.raises(HedgerowError, match="finite embeddings"):
        encode_distinct(broken, TEXTS)
