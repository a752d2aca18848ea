"""The definition of a benchmark: its items, their questions, and the outcomes of the answers."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np

from curation.release.overlap import DOCUMENT, QUERY

MetricKind = Literal["share", "spearman"]

POINTS = 100.0
"""Factor for shares and correlations: papers print them times a hundred."""


class PartScore(NamedTuple):
    """The score of a part of a breakdown, in points, and its number of items."""

    score: float
    n: int


Item = TypeVar("Item", bound=Hashable)

Asks = Literal["relevance", "similarity"]
"""The meaning of a score: how relevant a document is to a query, or how similar two texts are.
Models with different prompts for queries and documents use them for relevance."""


RIGHT, WRONG, TIED, UNANSWERED = "right", "wrong", "tied", "unanswered"
"""The usual outcomes of an item."""


class Question(NamedTuple):
    """A text, and the candidates that it is compared with."""

    text: str
    candidates: tuple[str, ...]


class PartMark(NamedTuple):
    """A part of a breakdown that an item belongs to, and whether it was correct there.

    Attributes:
        breakdown: such as 'edit'.
        value: such as 'scope'.
    """

    breakdown: str
    value: str
    right: bool


@dataclass(frozen=True)
class ItemResult:
    """The result of a model on one item.

    Attributes:
        key: the item's name in its data, unique there.
        outcome: what happened, in the words of the benchmark's ``outcomes``.
        right: whether it counts; None if the metric is a correlation.
        tied: two scores that should differ are equal; such an item is not right.
        answered: False if the model gave no score; such an item is not right, and is left out of a
            correlation.
        scores: in the order of the item's candidates.
        gold: the human score, if the metric is a correlation.
        group: items with the same group were made from the same sentence, so they are not
            independent evidence; a single item has its own key here.
        marks: the parts of the breakdowns that the item counts in.
        texts: the item's texts by their labels, for display.
        uids: the uids of the texts that belong to the project, by the same labels.
    """

    key: str
    outcome: str
    right: bool | None
    tied: bool
    answered: bool
    scores: tuple[float, ...]
    gold: float | None = None
    group: str = ""
    marks: tuple[PartMark, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    uids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """A model's result in a benchmark.

    Attributes:
        benchmark: its id.
        metric: its name for people, such as 'pairwise accuracy'.
        kind: how ``score`` follows from the rows.
        score: in points: a share from 0 to 100, a correlation from -100 to 100, as papers print it.
        n: the number of items.
        ties: items with equal scores where they should differ; they count as wrong.
        unanswered: items that the model gave no score for.
        rows: one per item, in the order of the data.
        outcomes: outcome → number of items.
        breakdowns: breakdown → part → its score and number of items.
        figures: further numbers of the paper's error analysis, by name.
        data_hash: SHA-256 of the items; their order does not matter.
        asked: for a language model, how it was prompted, as in `Prompted.report`.
    """

    benchmark: str
    metric: str
    kind: MetricKind
    score: float
    n: int
    ties: int
    unanswered: int
    rows: tuple[ItemResult, ...]
    outcomes: Mapping[str, int]
    breakdowns: Mapping[str, Mapping[str, PartScore]]
    figures: Mapping[str, float]
    data_hash: str
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def summary(self) -> dict[str, Any]:
        """The result as printed by the command line and stored in the database: everything except
        the rows."""
        return {
            "benchmark": self.benchmark,
            "metric": self.metric,
            "score": self.score,
            "n": self.n,
            "ties": self.ties,
            "unanswered": self.unanswered,
            "outcomes": dict(self.outcomes),
            "breakdowns": {
                name: {value: part._asdict() for value, part in parts.items()}
                for name, parts in self.breakdowns.items()
            },
            "figures": dict(self.figures),
            "data_hash": self.data_hash,
            "asked": dict(self.asked),
        }


class Benchmark(ABC, Generic[Item]):
    """A public test. A subclass defines its items, their questions, and when an answer is right.

    Another package can add a benchmark: a subclass that it names as an entry point of the group
    ``hedgerow.benchmarks``. Most need little more than the columns of their file if they subclass
    ``tasks.common_forms.FirstRight`` or ``tasks.common_forms.ScoredPairs``.

    Attributes:
        id: in commands, addresses and stored results. A plug-in gets the name of its entry point.
        title: for people.
        measures: one sentence.
        paper: its source; '' if there is none.
        metric: its name for people.
        chance: the score of a model that guesses, in points.
        paraphrases: whether each question has exactly one candidate that says the same as its text,
            so that a language model can be asked for it.
        outcomes: the possible outcomes of an item, in the order of charts.
        expects: the expected format of the file, to follow "expected" in a message.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    measures: ClassVar[str]
    paper: ClassVar[str] = ""
    metric: ClassVar[str]
    kind: ClassVar[MetricKind] = "share"
    chance: ClassVar[float] = 0.0
    asks: ClassVar[Asks] = "similarity"
    paraphrases: ClassVar[bool] = False
    outcomes: ClassVar[tuple[str, ...]]
    expects: ClassVar[str]
    hub: ClassVar[str] = ""
    """The place of the data on the Hub, as ``file_reading.HUB`` + owner/name/file; '' if it is not
    there."""
    published_items: ClassVar[int] = 0
    """The number of items in the data that papers report on; 0 if there are several data sets."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = tuple(items)

    @classmethod
    @abstractmethod
    def read(cls, source: Path | str = "") -> Self:
        """The benchmark with the data of a file, or of its place on the hub if no file is named.

        Raises:
            HedgerowError: the file can't be read or is not this benchmark's; one sentence that says
                what was expected, what was found, and on which line.
        """

    @abstractmethod
    def asked(self, item: Item) -> list[Question]:
        """The questions of an item."""

    @abstractmethod
    def judged(self, number: int, item: Item, scores: Sequence[np.ndarray]) -> ItemResult:
        """The result of a model on one item.

        Args:
            number: the item's number, from 0.
            scores: for each question of the item, one array with its candidates' scores; NaN for a
                missing score.
        """

    def outcome(self, right: bool, tied: bool, answered: bool) -> str:
        """The outcome of an item that is right or wrong as a whole, if the first two of
        ``outcomes`` say so."""
        if right:
            return self.outcomes[0]
        return TIED if tied else self.outcomes[1] if answered else UNANSWERED

    def aside(self, item: Item) -> Question | None:
        """A comparison that does not affect the score, for models that can compare any two
        texts."""
        return None

    def figures(self, rows: Sequence[ItemResult], aside: np.ndarray) -> dict[str, float]:
        """Further numbers for the error analysis, from the rows and the scores of ``asides()``."""
        return {}

    def questions(self) -> list[Question]:
        """All questions, in the items' order."""
        return [question for item in self.items for question in self.asked(item)]

    def asides(self) -> list[Question]:
        """All comparisons that do not affect the score."""
        return [question for item in self.items if (question := self.aside(item)) is not None]

    def samples(self) -> Iterator[list[str]]:
        """The distinct texts of each item, for comparing them with a release's."""
        for item in self.items:
            texts = [text for q in self.asked(item) for text in (q.text, *q.candidates)]
            yield list(dict.fromkeys(texts))

    def sides(self) -> Iterator[dict[str, list[str]]]:
        """The distinct texts of each item by side: the queries, and the texts they are compared
        with."""
        for item in self.items:
            asked = self.asked(item)
            yield {
                QUERY: [question.text for question in asked],
                DOCUMENT: [text for question in asked for text in question.candidates],
            }

    def texts(self) -> list[str]:
        """The distinct texts of all items."""
        return list(dict.fromkeys(text for sample in self.samples() for text in sample))

    def evaluate(
        self, scores: Sequence[np.ndarray], aside: Sequence[float] | np.ndarray = ()
    ) -> Result:
        """The result of a model.

        Args:
            scores: one array for each of ``questions()`` with one number per candidate; higher
                means more similar or more relevant, NaN means that the model gave no score.
            aside: one number for each of ``asides()``, if the model compares any two texts.
        """
        rows = tuple(self._rows(scores))
        return result_of(
            rows,
            benchmark=self.id,
            metric=self.metric,
            kind=self.kind,
            outcomes=self.outcomes,
            figures=self.figures(rows, np.asarray(aside, dtype=np.float64)),
            data_hash=self.data_hash(),
        )

    def _rows(self, scores: Sequence[np.ndarray]) -> Iterator[ItemResult]:
        given = iter(scores)
        for number, item in enumerate(self.items):
            yield self.judged(number, item, [next(given) for _ in self.asked(item)])

    def data_hash(self) -> str:
        """SHA-256 (64 hex digits) of the items; their order does not matter."""
        lines = sorted(json.dumps(item, ensure_ascii=False, default=str) for item in self.items)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def result_of(
    rows: tuple[ItemResult, ...],
    *,
    benchmark: str,
    metric: str,
    kind: MetricKind,
    outcomes: Sequence[str],
    figures: Mapping[str, float],
    data_hash: str,
) -> Result:
    """The result of a model from its rows; the arguments are as in `Result`.

    Args:
        outcomes: the possible outcomes, in the order of charts.
    """
    right: dict[str, dict[str, list[bool]]] = {}
    for mark in (mark for row in rows for mark in row.marks):
        right.setdefault(mark.breakdown, {}).setdefault(mark.value, []).append(mark.right)
    return Result(
        benchmark=benchmark,
        metric=metric,
        kind=kind,
        score=metric_of(kind, rows),
        n=len(rows),
        ties=sum(row.tied for row in rows),
        unanswered=sum(not row.answered for row in rows),
        rows=rows,
        outcomes={name: sum(row.outcome == name for row in rows) for name in outcomes},
        breakdowns={
            name: {
                value: PartScore(POINTS * sum(hits) / len(hits), len(hits))
                for value, hits in sorted(parts.items())
            }
            for name, parts in right.items()
        },
        figures=figures,
        data_hash=data_hash,
    )


def metric_of(kind: MetricKind, rows: Sequence[ItemResult]) -> float:
    """The score of these rows, in points; 0 if there are no rows or the values are constant."""
    if kind == "share":
        return POINTS * float(np.mean([bool(row.right) for row in rows])) if rows else 0.0
    from scipy.stats import spearmanr  # noqa: PLC0415  (loading it takes a second)

    gold, given = gold_and_given(rows)
    if len(gold) < 2 or np.ptp(gold) == 0 or np.ptp(given) == 0:
        return 0.0
    return POINTS * float(spearmanr(gold, given).statistic)


def gold_and_given(rows: Sequence[ItemResult]) -> tuple[np.ndarray, np.ndarray]:
    """The human and the model's scores of the answered rows: two arrays of equal length."""
    pairs = [(row.gold, row.scores[0]) for row in rows if row.answered and row.gold is not None]
    columns = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def above(right: np.ndarray, wrong: np.ndarray) -> tuple[bool, bool]:
    """Whether every right candidate scores higher than every wrong one, and whether it is a tie.

    A tie does not count, and neither does a missing score (NaN).
    """
    near, far = right.min(), wrong.max()
    return bool(near > far), bool(near == far)


def answered(scores: Sequence[np.ndarray]) -> bool:
    """Whether the model gave every score."""
    return all(np.isfinite(part).all() for part in scores)
