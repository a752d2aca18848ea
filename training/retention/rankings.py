"""Keeping the base encoder's ranking of passages for queries during training.

An encoder is used to find passages. Cosines among sentences say little about that: an encoder
finetuned with these alone kept STS and lost retrieval (docs/recipe_search.md).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from training.retention.texts import Document

if TYPE_CHECKING:
    from torch import Tensor

QUERIES_OF_A_DOCUMENT = 2
"""Number of queries per passage and step, out of its title, questions, need and query."""

SCALE = 20.0
"""Factor for cosines before the softmax over passages, as in the training of sentence-transformers'
own encoders."""

SOFT_TARGETS = 0.15
"""Weight of the soft targets relative to the cosines. Both measure the same change; the soft
targets emphasise the passages that rank first."""


class Rankings:
    """Queries and passages of documents, and the change of the cosines between them."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = list(documents)
        self._queries = {text for document in documents for text in document.queries}
        self._passages = {document.passage for document in documents}

    @property
    def texts(self) -> set[str]:
        """All texts that can be sampled."""
        return self._queries | self._passages

    def draw(self, count: int, chance: random.Random) -> list[str]:
        """The passages of this many documents, each with some of its queries."""
        chosen = chance.sample(self._documents, min(count, len(self._documents)))
        return [
            text
            for document in chosen
            for text in (
                document.passage,
                *chance.sample(document.queries, QUERIES_OF_A_DOCUMENT),
            )
        ]

    def loss(self, new: Tensor, old: Tensor, texts: Sequence[str]) -> Tensor:
        """The change of the cosines between all queries and all passages.

        Their root mean square change, plus `SOFT_TARGETS` times the mean Kullback-Leibler
        divergence of each query's distribution over the passages from the base encoder's.

        Args:
            new, old: the embeddings by the model and by the base encoder, shape (texts,
                dimensions), of length 1.
            texts: the texts of these rows; texts outside the documents are ignored.

        Returns:
            A scalar; 0 if there is no query or no passage.
        """
        queries = [place for place, text in enumerate(texts) if text in self._queries]
        passages = [place for place, text in enumerate(texts) if text in self._passages]
        if not queries or not passages:
            return new.new_zeros(())
        after, before = (rows[queries] @ rows[passages].T for rows in (new, old))
        moved = ((after - before).square().mean() + 1e-12).sqrt()
        found, wanted = ((SCALE * cosines).log_softmax(dim=1) for cosines in (after, before))
        divergence = (wanted.exp() * (wanted - found)).sum(dim=1).mean()
        return moved + SOFT_TARGETS * divergence
