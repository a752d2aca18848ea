"""Benchmarks of two common forms: a text with its right answer, and pairs with human scores."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import numpy as np

from db.errors import HedgerowError
from training.benchmarks.definition import (
    RIGHT,
    TIED,
    UNANSWERED,
    WRONG,
    Benchmark,
    ItemResult,
    MetricKind,
    Question,
    above,
    answered,
)
from training.benchmarks.file_reading import FileRecord, at_least_one, records, source_or_hub

# -- scored pairs ---------------------------------------------------------------------------------
#
# Benchmarks of sentence pairs with human scores: the correlation with a model's similarities.


SCORED = "scored"

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


# -- Benchmarks whose items are a text, the correct answer, and wrong ones ------------------------


class FirstRight(Benchmark[Question]):
    """The share of items whose correct candidate, the first one, scores higher than all others.

    Attributes:
        address: where to download the file.
    """

    metric = "accuracy"
    outcomes = (RIGHT, WRONG, TIED, UNANSWERED)
    address: ClassVar[str] = "its authors"

    @classmethod
    @abstractmethod
    def item(cls, record: FileRecord) -> Question:
        """The item in a row of the file: its text, the right candidate, and the wrong ones.

        Raises:
            HedgerowError: the row is not an item; ``record.text(COLUMN)`` raises a suitable error.
        """

    @classmethod
    def read(cls, source: Path | str = "") -> Self:
        """The items of a table or of JSON Lines, one per row."""
        place = source_or_hub(source, hub=cls.hub, title=cls.title, address=cls.address)
        items = [
            _complete(cls.item(record), record) for record in records(place, expects=cls.expects)
        ]
        return cls(at_least_one(items, place, expects=cls.expects))

    def asked(self, item: Question) -> list[Question]:
        """The item itself."""
        return [item]

    def judged(self, number: int, item: Question, scores: Sequence[np.ndarray]) -> ItemResult:
        """Right if no wrong candidate scores as high as the right one."""
        right, tied = above(scores[0][:1], scores[0][1:])
        whole = answered(scores)
        others = {f"wrong {place}": text for place, text in enumerate(item.candidates[1:], start=1)}
        return ItemResult(
            key=str(number),
            outcome=self.outcome(right, tied, whole),
            right=right,
            tied=tied,
            answered=whole,
            scores=tuple(map(float, scores[0])),
            group=str(number),
            texts={"text": item.text, "right": item.candidates[0], **others},
        )


def _complete(item: Question, record: FileRecord) -> Question:
    if len(item.candidates) < 2:
        raise record.wrong("a right candidate and wrong ones", list(item.candidates))
    return item


# -- CANNOT: sentence pairs with similarity scores. Many pairs differ in a negation ---------------


WITH_WMT = PairColumns("reference", "candidate", "score")
"""The columns in files of CANNOT with WMT. A higher score means more similar."""


class Cannot(ScoredPairs):
    """The published table has a label: 1 if the second sentence negates the first.

    Its mixture with WMT's translations, used in HedgeTriple's Table 1, has a score instead
    (MiriUll/negation_aware_evaluation on GitHub).
    """

    id = "cannot"
    title = "CANNOT"
    measures = "When a sentence is negated, do similarities fall as human judgements do?"
    paper = "Anschütz et al., This is not correct! Negation-aware Evaluation (INLG 2023)"
    expects = (
        "CANNOT as a table with the columns premise, hypothesis and label, or reference, candidate "
        "and score"
    )
    columns = PairColumns("premise", "hypothesis", "label")
    address = "https://github.com/dmlls/cannot-dataset"

    @classmethod
    def pair(cls, number: int, record: FileRecord, columns: PairColumns) -> ScoredPair | None:
        """The pair of a record, in either of the published formats."""
        mixed = columns is cls.columns and set(WITH_WMT[:3]) <= record.values.keys()
        return super().pair(number, record, WITH_WMT if mixed else columns)


# -- M3-Counterfactual: biomedical statements, negated, without evidence, or hedged ---------------


GRADES = {-1.0: "negated", 0.0: "no evidence", 1.0: "hedged"}


class M3Counterfactual(ScoredPairs):
    """Scores of pairs: -1 for a negation, 0 for 'there is no evidence', 1 for a hedge."""

    id = "m3"
    title = "M3-Counterfactual"
    measures = (
        "Is a hedged statement closer to the original than “no evidence”, and “no evidence” "
        "closer than a negation?"
    )
    paper = "Otmakhova et al., M3: Multi-level Dataset for Summarisation (Findings of EMNLP 2022)"
    expects = "M3-Counterfactual as a table with the columns sentence1, sentence2 and score"
    columns = PairColumns("sentence1", "sentence2", "score")
    address = "the authors of the paper"

    @classmethod
    def pair(cls, number: int, record: FileRecord, columns: PairColumns) -> ScoredPair | None:
        """The pair of a record. Its score is one of the three."""
        found = super().pair(number, record, columns)
        if found is not None and found.score not in GRADES:
            raise record.wrong(f"-1, 0 or 1 in '{columns.score}'", found.score * columns.sign)
        return found
