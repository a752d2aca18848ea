"""SemAntoNeg by training objective (its Figure 1). The objective is taken from a model's name.

Tables 3 to 6 of the paper group its models in this way. Like the figure, they leave out models for
search, translation pairs and images.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from training.benchmarks.results.published import published
from training.benchmarks.results.queries import Scored, by_column
from training.benchmarks.tasks.semantoneg import SemAntoNeg

GENERAL, PARAPHRASE, NLI, STSB = OBJECTIVES = (
    "general purpose",
    "paraphrase",
    "NLI",
    "STSB",
)

OTHER = "other"
"""The label for names that do not show the objective, or show another one."""

_FIRST_FITTING = (
    (re.compile("paraphrase|quora"), PARAPHRASE),
    (re.compile("stsb"), STSB),  # these were trained on NLI first
    (re.compile("nli"), NLI),  # 'ststb', too, as in Table 5
    (re.compile("^(all-|sentence-t5)"), GENERAL),
)

_TRAINED_HERE = re.compile(r"^run \d+: ")


class ModelAccuracy(NamedTuple):
    """A model's accuracy on SemAntoNeg, in points.

    Attributes:
        published: printed by the paper, not measured here.
        n: the number of items.
    """

    model: str
    accuracy: float
    published: bool
    n: int

    @property
    def objective(self) -> str:
        """One of `OBJECTIVES`, or `OTHER`."""
        return objective_of(self.model)


class ObjectiveGroup(NamedTuple):
    """The published models with one objective; scores are in points.

    Attributes:
        variance: the sample variance over the models, in points squared.
        lower, upper: the quartiles.
    """

    objective: str
    models: int
    mean: float
    variance: float
    least: float
    lower: float
    median: float
    upper: float
    most: float


def objective_of(model: str) -> str:
    """The training objective of a model, from the last part of its name.

    A model that was trained here contains the name of its base but has a different objective.
    """
    if _TRAINED_HERE.match(model):
        return OTHER
    name = model.rstrip("/").rpartition("/")[2]
    return next((group for sign, group in _FIRST_FITTING if sign.search(name)), OTHER)


def published_accuracies() -> list[ModelAccuracy]:
    """The models of the paper's Table 8 that have an accuracy, in its order."""
    return [
        ModelAccuracy(number.model, number.score, True, SemAntoNeg.published_items)
        for number in published()
        if number.benchmark == SemAntoNeg.id
    ]


def groups(models: Iterable[ModelAccuracy]) -> list[ObjectiveGroup]:
    """The groups of at least two published models, in the order of `OBJECTIVES`."""
    scores: dict[str, list[float]] = {name: [] for name in OBJECTIVES}
    for model in models:
        if model.published and model.objective in scores:
            scores[model.objective].append(model.accuracy)
    return [_group(name, found) for name, found in scores.items() if len(found) > 1]


def _group(objective: str, scores: Sequence[float]) -> ObjectiveGroup:
    lower, median, upper = statistics.quantiles(scores, n=4, method="inclusive")
    return ObjectiveGroup(
        objective,
        len(scores),
        statistics.mean(scores),
        statistics.variance(scores),
        min(scores),
        lower,
        median,
        upper,
        max(scores),
    )


GROUP_HEAD = "objective,models,mean,variance,least,lower quartile,median,upper quartile,most".split(
    ","
)
MODEL_HEAD = ["model", "objective", "accuracy", "items", "source"]


def group_rows(found: Iterable[ObjectiveGroup]) -> list[tuple[Any, ...]]:
    """The groups as rows of a table under `GROUP_HEAD`; figures to one decimal."""
    return [(name, n, *(round(figure, 1) for figure in figures)) for name, n, *figures in found]


def model_rows(models: Iterable[ModelAccuracy]) -> list[tuple[Any, ...]]:
    """The models as rows of a table under `MODEL_HEAD`, the most accurate first."""
    ordered = sorted(models, key=lambda model: -model.accuracy)
    return [
        (
            m.model,
            m.objective,
            round(m.accuracy, 2),
            m.n,
            "published" if m.published else "measured",
        )
        for m in ordered
    ]


def measured_accuracies(rows: Sequence[Scored]) -> list[ModelAccuracy]:
    """The user's results on the largest SemAntoNeg data that was measured.

    Args:
        rows: the result of ``newest``.
    """
    own = [row for row in rows if row.benchmark == SemAntoNeg.id]
    largest = max(own, key=lambda row: row.n, default=None)
    if largest is None:
        return []
    of_data = by_column(own, largest.column).values()
    return [ModelAccuracy(row.title, row.score, False, row.n) for row in of_data]
