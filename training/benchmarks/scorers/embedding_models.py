"""Scores of models that embed each text by itself, or read both texts of a pair together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from curation.encoders.embeddings import encode_distinct, retrieval_prompts
from db.errors import HedgerowError
from training.benchmarks.definition import Asks
from training.benchmarks.scorers.interface import (
    Pair,
    Progress,
    Scorer,
    by_length,
    distinct,
    finite,
)

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, SentenceTransformer, SparseEncoder

BATCH = 64
COSINES_AT_ONCE = 8192

ENTAILMENT = "entailment"


class BiEncoder(Scorer):
    """Cosine of the two texts' embeddings, whatever similarity the model was trained with.

    Queries and documents get the prompts that the model has for them.
    """

    architecture = "bi-encoder"
    compares_any = True

    def __init__(self, model: SentenceTransformer) -> None:
        self.model = model
        self._known: dict[str, np.ndarray] = {}

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """Cosines in [-1, 1]; each distinct text is encoded once."""
        query, document = ("", "") if asks == "similarity" else retrieval_prompts(self.model)
        sides = [query + first for first, _ in pairs] + [document + second for _, second in pairs]
        texts, rows = distinct(sides)
        embeddings = self._embeddings(texts, on_progress)
        first, second = np.split(rows, 2)
        scores = np.empty(len(pairs), dtype=np.float64)
        for start in range(0, len(pairs), COSINES_AT_ONCE):
            part = slice(start, start + COSINES_AT_ONCE)
            scores[part] = np.einsum("ij,ij->i", embeddings[first[part]], embeddings[second[part]])
        return np.clip(scores, -1.0, 1.0)

    def _embeddings(self, texts: list[str], on_progress: Progress | None) -> np.ndarray:
        """Of these texts; those of the call before are known, as NevIR's documents are."""
        new = [text for text in texts if text not in self._known]
        if new:
            found = encode_distinct(self.model, new, on_progress=on_progress)
            self._known.update(zip(new, found, strict=True))
        self._known = {text: self._known[text] for text in texts}
        return np.stack(list(self._known.values()))


class Sparse(Scorer):
    """SPLADE and its kin: a weight for every word of the vocabulary.

    Documents are ranked by the model's own similarity, mostly the dot product; sentences are
    compared by the cosine.
    """

    architecture = "sparse"
    compares_any = True

    def __init__(self, model: SparseEncoder) -> None:
        self.model = model

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """Dot products or cosines; each distinct text is encoded once for each of its roles."""
        if asks == "similarity":
            from sklearn.preprocessing import normalize  # noqa: PLC0415

            texts, rows = distinct([text for pair in pairs for text in pair])
            vectors = normalize(self._vectors(texts, self.model.encode, on_progress))
            return _products(vectors[rows[::2]], vectors[rows[1::2]])
        queries, first = distinct([pair[0] for pair in pairs])
        documents, second = distinct([pair[1] for pair in pairs])
        left = self._vectors(queries, self.model.encode_query, None)
        right = self._vectors(documents, self.model.encode_document, on_progress)
        if self.model.similarity_fn_name == "cosine":
            from sklearn.preprocessing import normalize  # noqa: PLC0415

            left, right = normalize(left), normalize(right)
        return _products(left[first], right[second])

    def _vectors(self, texts: Sequence[str], encode: Any, on_progress: Progress | None) -> Any:
        """The texts' vectors, a sparse matrix of SciPy's, shape (len(texts), vocabulary)."""
        from scipy.sparse import csr_array, vstack  # noqa: PLC0415

        order = by_length(texts, len)
        parts = []
        for start in range(0, len(order), BATCH):
            batch = [texts[number] for number in order[start : start + BATCH]]
            found = encode(
                batch,
                batch_size=BATCH,
                show_progress_bar=False,
                save_to_cpu=True,
                convert_to_sparse_tensor=False,
            )
            parts.append(csr_array(found.float().numpy()))
            if on_progress:
                on_progress(min(start + BATCH, len(order)), len(order))
        return vstack(parts, format="csr")[np.argsort(order)]


def _products(left: Any, right: Any) -> np.ndarray:
    """The dot products of the rows of two sparse matrices, shape (rows,)."""
    return finite(np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel())


class Cross(Scorer):
    """A model that reads both texts together.

    Its score is the number it gives before any squashing, which would make ties of large ones; of a
    model for inference (NLI) it is how likely the first text entails the second.
    """

    architecture = "cross-encoder"

    def __init__(self, model: CrossEncoder) -> None:
        self.model = model
        self._label = score_label(_classes(model))

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """One number a pair."""
        import torch

        order = by_length(pairs, lambda pair: len(pair[0]) + len(pair[1]))
        scores = np.empty(len(pairs), dtype=np.float64)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            given = self.model.predict(
                [pairs[number] for number in batch],
                batch_size=BATCH,
                show_progress_bar=False,
                activation_fn=torch.nn.Identity(),
            )
            scores[batch] = given if self._label is None else _log_odds(given, self._label)
            if on_progress:
                on_progress(min(start + BATCH, len(order)), len(order))
        return finite(scores)


def _classes(model: CrossEncoder) -> dict[int, str]:
    named = {int(number): str(name) for number, name in (model.config.id2label or {}).items()}
    return named if len(named) == model.num_labels else default_classes(model.num_labels)


def default_classes(count: int) -> dict[int, str]:
    """How transformers calls classes that nobody has named."""
    return {number: f"LABEL_{number}" for number in range(count)}


def score_label(names: Mapping[int, str]) -> int | None:
    """The class whose likelihood is the score; None where the model gives a single number.

    Args:
        names: of the model's classes, as its configuration numbers them.

    Raises:
        HedgerowError: there are several, and none of them is an entailment.
    """
    if len(names) == 1:
        return None
    for number, name in names.items():
        if name.lower() == ENTAILMENT:
            return number
    found = ", ".join(names.values())
    raise HedgerowError(
        f"Expected a cross-encoder that gives one number, or has a class '{ENTAILMENT}', found the "
        f"classes {found[:200]}; choose another model."
    )


def _log_odds(logits: np.ndarray, label: int) -> np.ndarray:
    """The log odds of a class, shape (n,): as its likelihood, but never rounded to 1."""
    rest = np.delete(np.asarray(logits, dtype=np.float64), label, axis=1)
    return logits[:, label] - np.logaddexp.reduce(rest, axis=1)
