"""The metrics before finetuning on NevIR's pairs and after each epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from training.benchmarks.results.measure import measure
from training.benchmarks.results.statistics import interval
from training.benchmarks.scorers.interface import Scorer
from training.benchmarks.tasks.nevir import DocumentPair, NevIR
from training.ranking.reranking import RERANKING, reciprocal_rank, reranking_questions

NEVIR = "nevir"
"""Pairwise accuracy on the held-out pairs, in [0, 1] (Figure 5)."""

LOW, HIGH = f"{NEVIR}:low", f"{NEVIR}:high"
"""The bounds of its 95% interval, in [0, 1]. Passages are resampled, not pairs."""

DOCUMENTS = "documents"
"""Mean cosine of the two documents of a held-out pair (Figure 8). The standard deviation is stored
under the name with the suffix ":sd", a quantile under the name with its percentage."""

QUANTILES = (0, 25, 50, 75, 100)
"""Percentages of the quantiles, as in a box plot."""


def quantile(percent: int) -> str:
    """The name of a quantile of the documents' cosines."""
    return f"{DOCUMENTS}:{percent}"


class RankingFigures:
    """Evaluates a model of any architecture."""

    def __init__(
        self, held_out: Sequence[DocumentPair], *, check: Callable[[], None] = lambda: None
    ) -> None:
        """Take the pairs to evaluate on.

        Args:
            check: called several times meanwhile; may raise to stop.
        """
        self._nevir, self._check = NevIR(held_out), check

    def of(self, scorer: Scorer) -> dict[str, float]:
        """The metrics by their names. The cosines of documents only exist for encoders.

        Args:
            scorer: a new scorer, because an old one may have cached embeddings.

        Raises:
            HedgerowError: the model gives no usable numbers.
        """
        result = measure(self._nevir, scorer, on_progress=self._on_progress)
        sure = interval(result)
        found = {NEVIR: result.score / 100, LOW: sure.low / 100, HIGH: sure.high / 100}
        found |= result.figures
        if scorer.compares_any:
            cosines = scorer.answer(self._nevir.asides(), asks="similarity")  # remembered
            values = np.percentile(np.concatenate(cosines), QUANTILES)
            found |= dict(zip(map(quantile, QUANTILES), map(float, values), strict=True))
        ranked = scorer.answer(
            reranking_questions(), asks="relevance", on_progress=self._on_progress
        )
        return found | {RERANKING: reciprocal_rank(ranked)}

    def _on_progress(self, done: int, total: int) -> None:
        self._check()
