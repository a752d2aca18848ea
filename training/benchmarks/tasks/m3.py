"""M3-Counterfactual: biomedical statements, negated, without evidence, or hedged."""

from __future__ import annotations

from training.benchmarks.data.file_reading import FileRecord
from training.benchmarks.tasks.scored_pairs import PairColumns, ScoredPair, ScoredPairs

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
