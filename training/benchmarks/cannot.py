"""CANNOT: pairs of sentences, many of which differ in a negation, and how alike they are."""

from __future__ import annotations

from training.benchmarks.scored_pairs import Columns, ScoredPairs


class Cannot(ScoredPairs):
    """The published table has a label, 1 where the second sentence negates the first.

    The part made from WMT, which HedgeTriple's Table 1 takes, has a score instead: name its column.
    """

    id = "cannot"
    title = "CANNOT"
    measures = "Do similarities fall where a sentence is negated, as people's do?"
    paper = "Anschütz et al., This is not correct! Negation-aware Evaluation (INLG 2023)"
    expects = "CANNOT as a table with the columns premise, hypothesis and label"
    columns = Columns("premise", "hypothesis", "label")
    address = "https://github.com/dmlls/cannot-dataset"
