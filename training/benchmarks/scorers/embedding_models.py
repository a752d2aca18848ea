"""Scorers for models that embed each text separately, and for cross-encoders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from curation.encoders.embeddings import encode_distinct, retrieval_prompts
from curation.encoders.loading import load_encoder, load_model
from db.errors import HedgerowError
from training.benchmarks.definition import Asks
from training.benchmarks.scorers.interface import (
    Pair,
    Progress,
    Prompts,
    Scorer,
    batches,
    distinct,
    finite,
    sides,
)

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, SentenceTransformer, SparseEncoder

BATCH = 64
COMPARED_AT_ONCE = 8192

COSINE = "cosine"
"""The name of the cosine in sentence-transformers."""

ENTAILMENT = "entailment"


Side = tuple[str | None, str]
"""A text with its prompt; None for the model's default prompt, if it has one."""


class BiEncoder(Scorer):
    """The similarity of the embeddings of two texts.

    Queries and documents are ranked by the similarity in the model's configuration, as in NevIR:
    the dot product, the negative Euclidean or Manhattan distance, or by default the cosine.
    Sentences are always compared by the cosine, as in the papers about SemAntoNeg (§4), CANNOT and
    M3-Counterfactual (HedgeTriple, §4.2.1). So are the two documents of a NevIR pair (its Figure
    8).

    Queries and documents get the model's prompts for them, or `given_prompts`.
    """

    architecture = "bi-encoder"
    takes_prompts = True
    compares_any = True

    def __init__(self, model: SentenceTransformer) -> None:
        self.model = model
        self._by_cosine = model.similarity_fn_name == COSINE
        self._known: dict[Side, np.ndarray] = {}

    @classmethod
    def load(cls, name: str) -> Self:
        """The bi-encoder of this name."""
        return cls(load_encoder(name))

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """Each distinct text is encoded once. A cosine is in [-1, 1]."""
        before = self._prompts(asks)
        sides: list[Side] = [(before.query, first) for first, _ in pairs]
        sides += [(before.document, second) for _, second in pairs]
        different, rows = distinct(sides)
        embeddings = self._embeddings(different, on_progress)
        compare = self._similarities if asks == "relevance" and not self._by_cosine else _cosines
        if compare is _cosines and not self._by_cosine:
            embeddings = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True).clip(1e-12)
        first, second = np.split(rows, 2)
        scores = np.empty(len(pairs), dtype=np.float64)
        for start in range(0, len(pairs), COMPARED_AT_ONCE):
            part = slice(start, start + COMPARED_AT_ONCE)
            scores[part] = compare(embeddings[first[part]], embeddings[second[part]])
        return scores

    def _similarities(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The similarities by the model's own function."""
        return self.model.similarity_pairwise(first, second).numpy()

    def _embeddings(self, sides: list[Side], on_progress: Progress | None) -> np.ndarray:
        """The embeddings of these texts. Embeddings of the previous call are reused."""
        new = [side for side in sides if side not in self._known]
        for prompt in dict.fromkeys(prompt for prompt, _ in new):
            texts = [text for other, text in new if other == prompt]
            before = sum(side in self._known for side in new)

            def report(done: int, _total: int, before: int = before) -> None:
                if on_progress:
                    on_progress(before + done, len(new))

            found = encode_distinct(
                self.model,
                texts,
                prompt=prompt,
                unit_length=self._by_cosine,
                on_progress=report,
            )
            self._known.update(zip([(prompt, text) for text in texts], found, strict=True))
        self._known = {side: self._known[side] for side in sides}
        return np.stack(list(self._known.values()))

    def _prompts(self, asks: Asks) -> Prompts:
        """The prompts before a query and a document. The library adds a default prompt itself."""
        if asks == "similarity":
            return Prompts()
        query, document = retrieval_prompts(self.model)
        asked = self.given_prompts
        return Prompts(
            (query or None) if asked.query is None else asked.query,
            (document or None) if asked.document is None else asked.document,
        )


def _cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The dot products of rows of length 1."""
    products: np.ndarray = np.einsum("ij,ij->i", first, second)
    return products.clip(-1.0, 1.0)


class Sparse(Scorer):
    """Sparse encoders such as SPLADE: a weight for every word of the vocabulary.

    Documents are ranked by the model's own similarity, usually the dot product. Sentences are
    compared by the cosine.
    """

    architecture = "sparse"
    takes_prompts = True
    compares_any = True

    def __init__(self, model: SparseEncoder) -> None:
        self.model = model

    @classmethod
    def load(cls, name: str) -> Self:
        """The sparse encoder of this name."""
        return cls(load_model(name, "SparseEncoder"))

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """Dot products or cosines; each distinct text is encoded once for each of its roles."""
        if asks == "similarity":
            from sklearn.preprocessing import normalize  # noqa: PLC0415

            texts, rows = distinct([text for pair in pairs for text in pair])
            vectors = normalize(_vectors(texts, self.model.encode, None, on_progress))
            return _products(vectors[rows[::2]], vectors[rows[1::2]])
        its, before = sides(pairs), self.given_prompts
        left = _vectors(its.queries, self.model.encode_query, before.query, None)
        right = _vectors(its.documents, self.model.encode_document, before.document, on_progress)
        if self.model.similarity_fn_name == COSINE:
            from sklearn.preprocessing import normalize  # noqa: PLC0415

            left, right = normalize(left), normalize(right)
        return _products(left[its.first], right[its.second])


def _vectors(
    texts: Sequence[str], encode: Any, prompt: str | None, on_progress: Progress | None
) -> Any:
    """The texts' vectors as a sparse SciPy matrix, shape (len(texts), vocabulary)."""
    from scipy.sparse import csr_array, vstack  # noqa: PLC0415

    order, parts = [], []
    for batch in batches(texts, len, size=BATCH, on_progress=on_progress):
        found = encode(
            [texts[number] for number in batch],
            prompt=prompt,
            batch_size=BATCH,
            show_progress_bar=False,
            save_to_cpu=True,
            convert_to_sparse_tensor=False,
        )
        order += batch
        parts.append(csr_array(found.float().numpy()))
    return vstack(parts, format="csr")[np.argsort(order)]


def _products(left: Any, right: Any) -> np.ndarray:
    """The dot products of the rows of two sparse matrices, shape (rows,)."""
    return finite(np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel())


class Cross(Scorer):
    """A model that reads both texts together.

    Its score is the logit, because an activation function would turn large values into ties. For
    an NLI model, it is the log odds that the first text entails the second.
    """

    architecture = "cross-encoder"
    takes_prompts = True

    def __init__(self, model: CrossEncoder) -> None:
        self.model = model
        self._label = score_label(_classes(model))

    @classmethod
    def load(cls, name: str) -> Self:
        """The cross-encoder of this name."""
        return cls(load_model(name, "CrossEncoder"))

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """One number per pair."""
        import torch

        pairs = self.prompted(pairs, asks)
        scores = np.empty(len(pairs), dtype=np.float64)
        by_both = batches(
            pairs, lambda pair: len("".join(pair)), size=BATCH, on_progress=on_progress
        )
        for batch in by_both:
            given = self.model.predict(
                [pairs[number] for number in batch],
                batch_size=BATCH,
                show_progress_bar=False,
                activation_fn=torch.nn.Identity(),
            )
            scores[batch] = given if self._label is None else _log_odds(given, self._label)
        return finite(scores)


def _classes(model: CrossEncoder) -> dict[int, str]:
    named = {int(number): str(name) for number, name in (model.config.id2label or {}).items()}
    return named if len(named) == model.num_labels else default_classes(model.num_labels)


def default_classes(count: int) -> dict[int, str]:
    """Transformers' name for a class without a name."""
    return {number: f"LABEL_{number}" for number in range(count)}


def score_label(names: Mapping[int, str]) -> int | None:
    """The class whose log odds are the score; None if the model has a single output.

    Args:
        names: the names of the model's classes, as numbered in its configuration.

    Raises:
        HedgerowError: there are several classes, and none of them is an entailment.
    """
    if len(names) == 1:
        return None
    for number, name in names.items():
        if name.lower() == ENTAILMENT:
            return number
    found = ", ".join(names.values())
    raise HedgerowError(
        f"Expected a cross-encoder with one output, or with a class '{ENTAILMENT}', found the "
        f"classes {found[:200]}; choose another model."
    )


def _log_odds(logits: np.ndarray, label: int) -> np.ndarray:
    """The log odds of a class, shape (n,). They order pairs like its likelihood, but never round to
    1."""
    rest = np.delete(np.asarray(logits, dtype=np.float64), label, axis=1)
    return logits[:, label] - np.logaddexp.reduce(rest, axis=1)
