"""Late interaction (ColBERT): one vector per token, and the matches of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from curation.encoders.loading import load_model
from training.benchmarks.definition import Asks
from training.benchmarks.scorers.interface import (
    OWN_PROMPTS,
    Pair,
    Progress,
    Scorer,
    batches,
    finite,
    sides,
)

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

BATCH = 64

SCORED_AT_ONCE = 256
"""Pairs per batch. Their token vectors are padded to the longest."""


class TokenMatrix(NamedTuple):
    """The similarity of the tokens of a query and a document (NevIR's Figure 9).

    Attributes:
        query: the query's Q tokens, as the tokenizer writes them.
        document: the document's D tokens, without those that the model skips, such as punctuation.
        similarity: shape (Q, D).
        best: the most similar document token for each query token, shape (Q,). MaxSim is the sum of
            their similarities.
    """

    query: tuple[str, ...]
    document: tuple[str, ...]
    similarity: np.ndarray
    best: np.ndarray

    @property
    def score(self) -> float:
        """MaxSim: the sum over the query's tokens of their best similarity."""
        return float(self.similarity.max(axis=1).sum())


class LateInteraction(Scorer):
    """MaxSim of a query and a document. For two sentences, the first is the query."""

    architecture = "late-interaction"
    takes_prompts = True

    def __init__(self, model: MultiVectorEncoder) -> None:
        self.model = model

    @classmethod
    def load(cls, name: str) -> Self:
        """The late-interaction model of this name."""
        return cls(load_model(name, "MultiVectorEncoder"))

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """MaxSim of each pair. Each distinct text of a side is encoded once."""
        its = sides(pairs)
        of_queries, of_documents = its.progress(on_progress)
        before = self.given_prompts if asks == "relevance" else OWN_PROMPTS
        left = _vectors(its.queries, self.model.encode_query, before.query, of_queries)
        right = _vectors(its.documents, self.model.encode_document, before.document, of_documents)
        scores = np.empty(len(pairs), dtype=np.float64)
        for start in range(0, len(pairs), SCORED_AT_ONCE):
            part = slice(start, start + SCORED_AT_ONCE)
            scores[part] = self.model.similarity_pairwise(
                [left[row] for row in its.first[part]], [right[row] for row in its.second[part]]
            ).numpy()
        return finite(scores)

    def tokens(self, query: str, document: str) -> TokenMatrix:
        """The tokens of a query and a document and their similarities, for a heat map."""
        names, left = self._tokens(self.model.encode_query, query, self.given_prompts.query)
        others, right = self._tokens(
            self.model.encode_document, document, self.given_prompts.document
        )
        similarity = left @ right.T
        return TokenMatrix(names, others, similarity, similarity.argmax(axis=1))

    def _tokens(
        self, encode: Any, text: str, prompt: str | None
    ) -> tuple[tuple[str, ...], np.ndarray]:
        """The scored tokens of a text, and their vectors as rows."""
        raw = encode([text], prompt=prompt, output_value=None, show_progress_bar=False)[0]
        mask = raw["attention_mask"].bool().cpu()
        ids = raw["input_ids"].cpu()[mask].tolist()
        names = self.model.tokenizer.convert_ids_to_tokens(ids)
        return tuple(names), raw["token_embeddings"].float().cpu()[mask].numpy()


def _vectors(
    texts: Sequence[str], encode: Any, prompt: str | None, on_progress: Progress
) -> list[np.ndarray]:
    """One matrix per text, with one row per token."""
    found: dict[int, np.ndarray] = {}
    for batch in batches(texts, len, size=BATCH, on_progress=on_progress):
        vectors = encode(
            [texts[number] for number in batch],
            prompt=prompt,
            batch_size=BATCH,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        found.update(zip(batch, vectors, strict=True))
    return [found[number] for number in range(len(texts))]
