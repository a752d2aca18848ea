"""Benchmarks of sentence pairs with human scores: the correlation with a model's similarities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import numpy as np

from db.errors import HedgerowError
from training.benchmarks.data.file_reading import FileRecord, at_least_one, records, source_or_hub
from training.benchmarks.definition import Benchmark, ItemResult, Question, answered
from training.benchmarks.results.metrics import MetricKind

SCORED, UNANSWERED = "scored", "unanswered"

MOST_GRADES = 12
"""Maximum number of different scores for which mean similarities are reported separately."""


class PairColumns(NamedTuple):
    """The columns of sentences and scores.

    Attributes:
        higher_is_alike: whether a higher score means more similar. None: yes, except for a column
            named 'label', which says whether the second sentence is negated.
    """

    first: str
    second: str
    score: str
    higher_is_alike: bool | None = None

    @property
    def sign(self) -> float:
        """The factor that makes a higher score mean more similar."""
        alike = self.score != "label" if self.higher_is_alike is None else self.higher_is_alike
        return 1.0 if alike else -1.0


class ScoredPair(NamedTuple):
    """Two sentences and their human similarity score, on any scale."""

    key: str
    first: str
    second: str
    score: float


class ScoredPairs(Benchmark[ScoredPair]):
    """Spearman's correlation of human scores with a model's.

    Attributes:
        columns: the names in the published files.
        address: where to download the files.
    """

    metric = "Spearman"
    kind: ClassVar[MetricKind] = "spearman"
    outcomes = (SCORED, UNANSWERED)
    columns: ClassVar[PairColumns]
    address: ClassVar[str]

    @classmethod
    def read(cls, source: Path | str = "", *, columns: PairColumns | None = None) -> Self:
        """The pairs of a table or of JSON Lines. Pairs without a score are left out."""
        place = source_or_hub(source, hub=cls.hub, title=cls.title, address=cls.address)
        wanted = columns or cls.columns
        found = [
            pair
            for number, record in enumerate(records(place, expects=cls.expects))
            if (pair := cls.pair(number, record, wanted)) is not None
        ]
        _check(at_least_one(found, place, expects=cls.expects), place)
        return cls(found)

    @classmethod
    def pair(cls, number: int, record: FileRecord, columns: PairColumns) -> ScoredPair | None:
        """The pair of a record; None if it has no score."""
        if record.value(columns.score) in (None, ""):
            return None
        score = columns.sign * record.number(columns.score)
        return ScoredPair(
            str(number), record.text(columns.first), record.text(columns.second), score
        )

    def asked(self, item: ScoredPair) -> list[Question]:
        """The pair."""
        return [Question(item.first, (item.second,))]

    def judged(self, number: int, item: ScoredPair, scores: Sequence[np.ndarray]) -> ItemResult:
        """The pair with both scores. Only the whole data set can be right or wrong."""
        whole = answered(scores)
        return ItemResult(
            key=item.key,
            outcome=SCORED if whole else UNANSWERED,
            right=None,
            tied=False,
            answered=whole,
            scores=(float(scores[0][0]),),
            gold=item.score,
            group=item.key,
            texts={"first": item.first, "second": item.second},
        )

    def figures(self, rows: Sequence[ItemResult], aside: np.ndarray) -> dict[str, float]:
        """If there are few different human scores: the model's mean and standard deviation for
        each."""
        by_score: dict[float, list[float]] = {}
        for row in rows:
            if row.answered and row.gold is not None:
                by_score.setdefault(row.gold, []).append(row.scores[0])
        if len(by_score) > MOST_GRADES:
            return {}
        found: dict[str, float] = {}
        for score, values in sorted(by_score.items()):
            found[f"score {score:g}"] = float(np.mean(values))
            found[f"score {score:g}:sd"] = float(np.std(values))
        return found


def _check(pairs: Iterable[ScoredPair], place: Path | str) -> None:
    if len({pair.score for pair in pairs}) < 2:
        raise HedgerowError(
            f"Expected different scores in {Path(place).name!r}, found the same score "
            "everywhere; check the score column."
        )
