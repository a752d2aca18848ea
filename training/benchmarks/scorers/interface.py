"""The interface of everything that scores pairs of texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

import numpy as np

from db.errors import HedgerowError
from training.benchmarks.definition import Asks, Question

Pair = tuple[str, str]
"""A query and a document, or two sentences."""

Progress = Callable[[int, int], None]
"""Called with (work done, work in all), in the scorer's own units; may raise to cancel."""

Unit = TypeVar("Unit")


class Scorer(ABC):
    """Scores pairs of texts: a higher score means nearer, or more relevant.

    Attributes:
        architecture: as in ``architecture.ARCHITECTURES``.
        compares_any: whether its scores say how alike any two texts are, so that the documents of
            a NevIR pair can be compared with each other.
    """

    architecture: ClassVar[str]
    compares_any: ClassVar[bool] = False

    @abstractmethod
    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """A score for each pair, float64, shape (len(pairs),); NaN where there is none.

        Args:
            pairs: all different.
            asks: whether the first text of a pair is a query and the second a document.

        Raises:
            HedgerowError: the model gives no usable numbers.
        """

    def answer(
        self, questions: Sequence[Question], *, asks: Asks, on_progress: Progress | None = None
    ) -> list[np.ndarray]:
        """For each question one array with a score a candidate; every distinct pair scored once."""
        places: dict[Pair, int] = {}
        rows = [
            [places.setdefault((text, other), len(places)) for other in candidates]
            for text, candidates in questions
        ]
        scores = self.score(list(places), asks=asks, on_progress=on_progress)
        return [scores[row] for row in rows]


def distinct(texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The distinct texts in order, and the place of each text among them."""
    places: dict[str, int] = {}
    rows = [places.setdefault(text, len(places)) for text in texts]
    return list(places), np.array(rows, dtype=np.int64)


def by_length(items: Sequence[Unit], length: Callable[[Unit], int]) -> list[int]:
    """Numbers of the items, the longest first, so that a batch holds little padding."""
    return sorted(range(len(items)), key=lambda number: -length(items[number]))


def finite(scores: np.ndarray) -> np.ndarray:
    """The scores.

    Raises:
        HedgerowError: one of them is not a finite number.
    """
    if not np.isfinite(scores).all():
        raise HedgerowError(
            "The model gives scores that are not finite numbers; its weights are damaged or its "
            "training diverged: choose another model."
        )
    return scores
