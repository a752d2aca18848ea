"""ExcluIR: queries that exclude a document, which must rank below the requested one."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from db.errors import HedgerowError
from training.benchmarks.definition import (
    TIED,
    UNANSWERED,
    Benchmark,
    ItemResult,
    Question,
    above,
    answered,
)
from training.benchmarks.file_reading import (
    FileRecord,
    at_least_one,
    described,
    local,
    records,
    source_or_hub,
)

RIGHT_RANK = "right rank"

QUERIES, CORPUS = "test_manual_final.json", "corpus.json"


class Exclusion(NamedTuple):
    """A query with the document that it excludes and the document that it requests."""

    key: str
    query: str
    excluded: str
    wanted: str


class ExcluIR(Benchmark[Exclusion]):
    """The share of queries whose requested document scores higher than the excluded one.

    The two are compared directly, so a random guess is right in half of the cases, which matches
    the scores in HedgeTriple's Table 1. The benchmark's own script searches the whole corpus
    instead, and counts a query as wrong if its requested document is not among the first ten.
    """

    id = "excluir"
    title = "ExcluIR"
    measures = "Does a ranking avoid what the query excludes?"
    paper = "Zhang et al., ExcluIR: Exclusionary Neural Information Retrieval (2024)"
    metric = "right rank"
    chance = 50.0
    asks = "relevance"
    outcomes = (RIGHT_RANK, "excluded first", TIED, UNANSWERED)
    published_items = 3452
    expects = f"ExcluIR's {QUERIES}, a list of entries with RQ_rewrite and corpus_sub_index"

    @classmethod
    def read(cls, source: Path | str = "") -> Self:
        """The queries of a folder with both published files, or of a file next to its corpus."""
        place = source_or_hub(
            source, hub=cls.hub, title=cls.title, address="https://github.com/zwh-sdu/ExcluIR"
        )
        path = local(place)
        path = path / QUERIES if path.is_dir() else path
        documents = _corpus(path.with_name(CORPUS))
        items = [
            _exclusion(number, record, documents)
            for number, record in enumerate(records(path, expects=cls.expects))
        ]
        return cls(at_least_one(items, path, expects=cls.expects))

    def asked(self, item: Exclusion) -> list[Question]:
        """The query with both documents, the requested one first."""
        return [Question(item.query, (item.wanted, item.excluded))]

    def judged(self, number: int, item: Exclusion, scores: Sequence[np.ndarray]) -> ItemResult:
        """Right, or the excluded document ranks first."""
        right, tied = above(scores[0][:1], scores[0][1:])
        whole = answered(scores)
        return ItemResult(
            key=item.key,
            outcome=self.outcome(right, tied, whole),
            right=right,
            tied=tied,
            answered=whole,
            scores=tuple(map(float, scores[0])),
            group=item.key,
            texts={"query": item.query, "wanted": item.wanted, "excluded": item.excluded},
        )


def _corpus(path: Path) -> list[str]:
    expects = f"ExcluIR's {CORPUS}, a list of documents, next to {QUERIES}"
    documents = [record.value("text") for record in records(path, expects=expects)]
    for number, document in enumerate(documents, start=1):
        if not isinstance(document, str):
            raise HedgerowError(
                f"Expected {expects}, found {described(document)} at entry {number:,}."
            )
    return documents


def _exclusion(number: int, record: FileRecord, documents: Sequence[str]) -> Exclusion:
    """An entry; the README and the code of the benchmark call its fields by different names."""
    query = record.text("RQ_rewrite", "ExcluQ")
    places = record.value("corpus_sub_index", "index")
    if not (
        isinstance(places, list)
        and len(places) == 2
        and all(type(place) is int and 0 <= place < len(documents) for place in places)
    ):
        raise record.wrong(f"two numbers of documents, below {len(documents):,},", places)
    excluded, wanted = (documents[place] for place in places)
    return Exclusion(str(number), query, excluded, wanted)
