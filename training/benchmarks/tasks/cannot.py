"""CANNOT: sentence pairs with similarity scores. Many pairs differ in a negation."""

from __future__ import annotations

from training.benchmarks.data.file_reading import FileRecord
from training.benchmarks.tasks.scored_pairs import PairColumns, ScoredPair, ScoredPairs

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
