"""The metrics before finetuning on NevIR's pairs and after each epoch."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from curation.content_uids import words_of
from db.models import Run
from training.benchmarks.definition import Question
from training.benchmarks.results.statistics import interval
from training.benchmarks.scorers.interface import Scorer, measure
from training.benchmarks.tasks.nevir import DocumentPair, NevIR
from training.evaluation import general_ability
from training.evaluation.general_ability import RetrievalItem
from training.finetune.curves import Evaluation, list_evaluations

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

    def evaluate(self, scorer: Scorer) -> dict[str, float]:
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


# -- reranking ------------------------------------------------------------------------------------
#
# Retrieval for models of every architecture: the bundled questions, with ten candidates each.
#
# A cross-encoder reads each question with each passage, and 300 questions with 900 passages would
# take too long after every epoch. Each question therefore ranks its own passage, its near misses,
# and the passages that share most words with it. All architectures rank the same candidates.


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
    return tuple(with_candidates(general_ability.retrieval_items()))


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
    return product.toarray()


def reciprocal_rank(scores: Sequence[np.ndarray]) -> float:
    """The mean of 1 / rank of the first candidate, which ranks below all others with the same
    score."""
    return float(np.mean([1 / int((row >= row[0]).sum()) for row in scores]))


# -- The metrics after each epoch of a finetuning run, read from the database ---------------------


SPREAD = f"{DOCUMENTS}:sd"

SHARES = (NEVIR, LOW, HIGH)
"""The metrics that are shown as percentages."""

QUANTILE_NAMES: Mapping[int, str] = {
    0: "minimum",
    25: "lower quartile",
    50: "median",
    75: "upper quartile",
    100: "maximum",
}
"""A name for each percentage in `QUANTILES`."""

NAMES: Mapping[str, str] = {
    NEVIR: "NevIR pairwise accuracy",
    LOW: "lower end of its 95% interval",
    HIGH: "upper end of its 95% interval",
    RERANKING: "retrieval (MRR)",
    DOCUMENTS: "mean cosine of the two documents",
    SPREAD: "standard deviation of the cosine",
    **{quantile(percent): f"{name} of the cosine" for percent, name in QUANTILE_NAMES.items()},
}
"""The labels of the metrics, in the order of tables."""


def epochs_of(session: Session, run: Run) -> list[Evaluation]:
    """The epochs of a run so far, with the metrics in `NAMES`. The cosines of documents only exist
    for encoders."""
    found = list_evaluations(session, run, NAMES)
    return [evaluation._replace(epoch=round(evaluation.epoch)) for evaluation in found]


class Finetuning(NamedTuple):
    """A finetuning run and its metrics."""

    run: Run
    epochs: list[Evaluation]


def with_epochs(session: Session, runs: Iterable[Run]) -> list[Finetuning]:
    """The runs with their metrics."""
    return [Finetuning(run, epochs_of(session, run)) for run in runs]


def measured(epochs: Sequence[Evaluation]) -> list[str]:
    """The metrics that exist, in the order of tables."""
    return [name for name in NAMES if any(name in epoch.figures for epoch in epochs)]


def as_table(runs: Sequence[Finetuning]) -> tuple[list[str], list[list[Any]]]:
    """The header and rows of a file with one epoch of a run per row; None for a missing metric."""
    names = measured([epoch for run in runs for epoch in run.epochs])
    lines = [
        [found.run.id, epoch.epoch, epoch.step, *(epoch.figures.get(name) for name in names)]
        for found in runs
        for epoch in found.epochs
    ]
    return ["run", "epoch", "step", *(NAMES[name] for name in names)], lines
