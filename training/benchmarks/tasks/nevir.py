"""NevIR: two documents that differ in a negation, and a query that fits each of them alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from curation.language.negation import find_negators
from curation.language.tokens import analyse
from training.benchmarks.definition import (
    TIED,
    UNANSWERED,
    Benchmark,
    ItemResult,
    PartMark,
    Question,
    above,
    answered,
)
from training.benchmarks.file_reading import HUB, at_least_one, records, source_or_hub

CORRECT, REVERSED = "correct", "reversed"
NEGATED, PLAIN, ONE = "prefers negated", "prefers non-negated", "prefers one"
"""The outcomes of Figure 4, with `ONE` for a pair whose negated document cannot be determined."""

EDITS = {"2": "scope", "3": "affirmative"}
"""The last part of an entry's id: how CondaQA's annotators changed the passage (Figure 7). The
passage's number comes before it; pairs with the same passage are a group."""


class DocumentPair(NamedTuple):
    """Two documents. The first answers only the first query, the second only the second query.

    Attributes:
        more_negators: the document with more negators, 1 or 2; 0 if both have the same number.
    """

    key: str
    queries: tuple[str, str]
    documents: tuple[str, str]
    more_negators: int


class NevIR(Benchmark[DocumentPair]):
    """Both queries must rank their own document first."""

    id = "nevir"
    title = "NevIR"
    measures = "Does a ranking follow the negation in the query and in the documents?"
    paper = "Weller et al., NevIR: Negation in Neural Information Retrieval (EACL 2024)"
    metric = "pairwise accuracy"
    chance = 25.0
    asks = "relevance"
    outcomes = (CORRECT, NEGATED, PLAIN, ONE, REVERSED, TIED, UNANSWERED)
    expects = "NevIR as JSON Lines with q1, q2, doc1 and doc2"
    hub = f"{HUB}orionweller/NevIR/test.jsonl"
    published_items = 1383

    @classmethod
    def read(cls, source: Path | str = "") -> Self:
        """The pairs in a file in the published format, by default the test split on the hub."""
        place = source_or_hub(source, hub=cls.hub, title=cls.title, address="")
        pairs = [
            pair(
                record.key("id", number),
                (record.text("q1"), record.text("q2")),
                (record.text("doc1"), record.text("doc2")),
            )
            for number, record in enumerate(records(place, expects=cls.expects))
        ]
        return cls(at_least_one(pairs, place, expects=cls.expects))

    def asked(self, item: DocumentPair) -> list[Question]:
        """Each query with both documents."""
        return [Question(query, item.documents) for query in item.queries]

    def judged(self, number: int, item: DocumentPair, scores: Sequence[np.ndarray]) -> ItemResult:
        """Correct, or one of the errors of Figure 4."""
        first, second = scores
        (own, one_tied) = above(first[:1], first[1:])
        (other, two_tied) = above(second[1:], second[:1])
        whole = answered(scores)
        tied = whole and (one_tied or two_tied)
        outcome = UNANSWERED if not whole else TIED if tied else _outcome(own, other, item)
        right = outcome == CORRECT
        passage = passage_of(item)
        edit = EDITS.get(item.key[len(passage) + 1 :], "")
        return ItemResult(
            key=item.key,
            outcome=outcome,
            right=right,
            tied=tied,
            answered=whole,
            scores=(*map(float, first), *map(float, second)),
            group=passage,
            marks=(PartMark("edit", edit, right),) if edit else (),
            texts=dict(
                zip(("q1", "q2", "doc1", "doc2"), item.queries + item.documents, strict=True)
            ),
        )

    def aside(self, item: DocumentPair) -> Question:
        """The two documents of each pair (Figure 8)."""
        return Question(item.documents[0], item.documents[1:])

    def figures(self, rows: Sequence[ItemResult], aside: np.ndarray) -> dict[str, float]:
        """The similarity of the two documents of a pair: mean and standard deviation."""
        if not len(aside):
            return {}
        return {"documents": float(aside.mean()), "documents:sd": float(aside.std())}


def passage_of(item: DocumentPair) -> str:
    """The part of a pair's id that identifies the passage both of its documents were made from."""
    return item.key.rpartition("-")[0] or item.key


def pair(key: str, queries: tuple[str, str], documents: tuple[str, str]) -> DocumentPair:
    """A pair. The document with more negators counts as the one with the negation, because the
    published files do not say which one it is.
    """
    first, second = (len(find_negators(analyse(document))) for document in documents)
    return DocumentPair(
        key, queries, documents, 0 if first == second else 1 if first > second else 2
    )


def _outcome(own: bool, other: bool, item: DocumentPair) -> str:
    """The outcome of a pair without ties. `own`, `other`: a query ranks its own document first."""
    if own == other:
        return CORRECT if own else REVERSED
    preferred = 1 if own else 2
    if not item.more_negators:
        return ONE
    return NEGATED if preferred == item.more_negators else PLAIN
