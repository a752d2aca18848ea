"""Scorers without a model: TF-IDF and random scores."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from curation.content_uids import words_of
from training.benchmarks.definition import Asks
from training.benchmarks.scorers.interface import Pair, Progress, Scorer, distinct


class TfIdf(Scorer):
    """Cosine of the texts' TF-IDF vectors: word counts weighted by how rare each word is.

    The weights are scikit-learn's, fitted on the texts that are scored. No stop words are removed,
    because they include negators. NevIR's own script fits the weights on each query with one
    document, and removes stop words.
    """

    architecture = "tf-idf"
    takes = "nothing"
    compares_any = True

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """Cosines in [0, 1]; 0 for a text without words."""
        # Loading scikit-learn takes a second.
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415

        texts, rows = distinct([text for pair in pairs for text in pair])
        if not any(words_of(text) for text in texts):
            return np.zeros(len(pairs))
        vectors = TfidfVectorizer(analyzer=words_of).fit_transform(texts)
        first, second = vectors[rows[::2]], vectors[rows[1::2]]
        if on_progress:
            on_progress(len(texts), len(texts))
        return np.asarray(first.multiply(second).sum(axis=1), dtype=np.float64).ravel()


class Random(Scorer):
    """Uniform random scores in [0, 1) that depend only on the pair and a seed."""

    architecture = "random"
    takes = "nothing"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """Numbers that depend on the seed and on both texts."""
        scores = np.array([self._sampled(*pair) for pair in pairs], dtype=np.float64)
        if on_progress:
            on_progress(len(pairs), len(pairs))
        return scores

    def _sampled(self, first: str, second: str) -> float:
        digest = hashlib.sha256(f"{self.seed}\0{first}\0{second}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64
