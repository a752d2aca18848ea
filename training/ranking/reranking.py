"""Retrieval for models of every architecture: the bundled questions, with ten candidates each.

A cross-encoder reads each question with each passage, and 300 questions with 900 passages would
take too long after every epoch. Each question therefore ranks its own passage, its near misses, and
the passages that share most words with it. All architectures rank the same candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from curation.content_uids import words_of
from training.benchmarks.definition import Question
from training.evaluation import retrieval
from training.evaluation.retrieval import RetrievalItem

RERANKING = "reranking"
"""The metric's name: mean reciprocal rank of a question's own passage, in [0, 1]."""

CANDIDATES = 10

WHAT_IT_IS = (
    "Retrieval is the mean reciprocal rank on 300 bundled questions: the average of 1 / rank of "
    "the passage that answers the question, among ten candidates. The other candidates are "
    "two passages that almost answer it and the seven that are most similar to the question by "
    "TF-IDF. Chance is 0.29."
)
"""The explanation of the metric."""


@cache
def reranking_questions() -> tuple[Question, ...]:
    """The bundled questions. The first candidate of each is the passage that answers it."""
    return tuple(with_candidates(retrieval.retrieval_items()))


def with_candidates(items: Sequence[RetrievalItem]) -> list[Question]:
    """Each question with its passage, its near misses, and the most similar passages of other
    items."""
    passages = [text for item in items for text in (item.passage, *item.near_misses)]
    nearness = _word_cosines([item.question for item in items], passages)
    found = []
    for item, row in zip(items, nearness, strict=True):
        near = (passages[place] for place in np.argsort(-row, kind="stable"))
        candidates = dict.fromkeys([item.passage, *item.near_misses, *near])
        found.append(Question(item.question, tuple(candidates)[:CANDIDATES]))
    return found


def _word_cosines(questions: Sequence[str], passages: Sequence[str]) -> np.ndarray:
    """Cosines of TF-IDF vectors, shape (questions, passages)."""
    # Loading scikit-learn takes a second.
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415

    vectorizer = TfidfVectorizer(analyzer=words_of).fit(passages)
    product = vectorizer.transform(questions) @ vectorizer.transform(passages).T
    cosines: np.ndarray = product.toarray()
    return cosines


def reciprocal_rank(scores: Sequence[np.ndarray]) -> float:
    """The mean of 1 / rank of the first candidate, which ranks below all others with the same
    score."""
    return float(np.mean([1 / int((row >= row[0]).sum()) for row in scores]))
