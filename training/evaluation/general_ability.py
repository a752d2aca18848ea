"""General ability of an encoder: retrieval of passages, and semantic textual similarity."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from curation.encoders.embeddings import characters, encode_distinct, retrieval_prompts
from curation.tables.columns import named
from curation.tables.delimited import listed
from curation.tables.json_values import cell_text
from curation.tables.table import Row, open_bytes
from db.errors import HedgerowError
from db.named_files import read_bytes

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


# -- Retrieval: the rank of the passage that answers a question -----------------------------------
#
# Finetuning for negation can cost retrieval without a change in STS: similar sentences stay
# similar, but a question no longer finds its passage among many. This is measured with 300 bundled
# questions in English, which are never used for training. A language model wrote the questions and
# passages for this purpose, and people have not checked them. The set is small: of two equally good
# encoders, one can easily score 0.01 higher. The value itself therefore says little about real
# searches. The change caused by training is what matters.


RETRIEVAL = "retrieval"
"""The metric's name: MRR@10 on the bundled questions. It takes several seconds, so it is measured
before and after training and has no curve."""

DEPTH = 10
"""The last rank that counts."""

WHAT_IT_IS = (
    "Retrieval is MRR@10 on 300 bundled questions: the average of 1 / rank of the passage that "
    "answers the question, among 900 passages (0 beyond rank 10)."
)
"""The explanation of the metric."""

_FILE = Path(__file__).with_name("retrieval_questions.jsonl")


class RetrievalItem(NamedTuple):
    """A question and three passages on its subject.

    Attributes:
        question: a question, keywords, or a sentence that describes what is needed.
        passage: the one that answers it, mostly in other words.
        near_misses: passages that do not answer it.
    """

    question: str
    passage: str
    near_misses: tuple[str, ...]


@cache
def retrieval_items() -> tuple[RetrievalItem, ...]:
    """The bundled questions, in the order of the file."""
    rows = map(json.loads, _FILE.read_text(encoding="utf-8").splitlines())
    return tuple(
        RetrievalItem(row["question"], row["passage"], tuple(row["near_misses"])) for row in rows
    )


def retrieval_figures(
    model: SentenceTransformer, *, check: Callable[[], None] = lambda: None
) -> dict[str, float]:
    """MRR@10 on the bundled questions, in [0, 1], under the metric's name.

    Args:
        check: called several times meanwhile; may raise to stop.
    """
    return {RETRIEVAL: mean_reciprocal_rank(model, retrieval_items(), check=check)}


def retrieval_counts() -> dict[str, int]:
    """The number of questions, under the metric's name."""
    return {RETRIEVAL: len(retrieval_items())}


def retrieval_characters() -> int:
    """The amount of text in all questions and passages (`curation.encoders.embeddings`)."""
    return characters(
        text
        for item in retrieval_items()
        for text in (item.question, item.passage, *item.near_misses)
    )


def mean_reciprocal_rank(
    model: SentenceTransformer,
    items: Sequence[RetrievalItem],
    *,
    check: Callable[[], None] = lambda: None,
) -> float:
    """The mean of 1 / rank (0 from rank 11 on) of each question's own passage, in [0, 1].

    The ranking is by cosine, among the passages and near misses of all items, with the model's
    prompts for queries and documents. A passage ranks below all others with the same cosine.

    Args:
        items: at least one item; no passage occurs twice.
        check: called several times meanwhile; may raise to stop.
    """
    query, document = retrieval_prompts(model)
    passages = [document + text for item in items for text in (item.passage, *item.near_misses)]
    questions = [query + item.question for item in items]
    rows = encode_distinct(model, questions + passages, on_progress=lambda *_: check())
    cosines = rows[: len(items)] @ rows[len(items) :].T  # (questions, passages)
    column = {text: number for number, text in enumerate(passages)}
    own = [column[document + item.passage] for item in items]
    nearness = cosines[np.arange(len(items)), own]
    ranks = (cosines >= nearness[:, None]).sum(axis=1)
    return float(np.where(ranks <= DEPTH, 1 / ranks, 0.0).mean())


# -- sts ------------------------------------------------------------------------------------------
#
# Semantic textual similarity: pairs with human scores, and their correlation with cosines.


LARGEST_STS_FILE = 20 * 1024 * 1024
"""Maximum size of a file in bytes. The whole STS benchmark is a twentieth of it."""

_SHOWN = 40

FEWEST = 3
"""Minimum number of pairs for a meaningful rank correlation."""


class StsPair(NamedTuple):
    """Two sentences and their human similarity score, on any scale."""

    score: float
    first: str
    second: str


_SCORES = ("score", "similarity_score", "similarity", "relatedness_score", "gold_score", "label")
_FIRSTS = ("sentence1", "sentence_1", "sentence_a", "text1", "anchor")
_SECONDS = ("sentence2", "sentence_2", "sentence_b", "text2", "text")
_HEADLESS = ("score", "sentence1", "sentence2")
"""The columns of a file without a header, as published; others may precede them."""


def read_sts(path: Path) -> list[StsPair]:
    """Read a table with a score and two sentences in each row; rows without a score are left out.

    Without a header, the columns are score, first and second sentence.

    Raises:
        HedgerowError: the file can't be read or has other columns, or a row has no number or lacks
            a sentence (the message gives its line).
    """
    content = read_bytes(path, kind="an STS file", largest=LARGEST_STS_FILE)
    table = open_bytes(content, path.name, is_prose=False, names=_names)
    score, first, second = columns = [
        named(table.columns, names) for names in (_SCORES, _FIRSTS, _SECONDS)
    ]
    if score is None or first is None or second is None:
        raise HedgerowError(
            f"Expected the columns {', '.join(_HEADLESS)} in {table.name}, found "
            f"{listed(table.columns)}; rename them."
        )
    rows = (
        (row, [cell_text(row.cells.get(column or "")) for column in columns])
        for row in table.rows()
    )
    pairs = [_pair(row, *cells) for row, cells in rows if cells[0]]
    if len(pairs) < FEWEST:
        raise HedgerowError(
            f"Expected at least {FEWEST} sentence pairs in {table.name}, found {len(pairs)}."
        )
    if len({pair.score for pair in pairs}) == 1:
        raise HedgerowError(
            f"Expected different scores in {table.name}, found {pairs[0].score:g} in every row."
        )
    return pairs


def _names(cells: Sequence[str]) -> Sequence[str] | None:
    if named(cells, _SCORES):
        return None
    before = max(
        (n for n, cell in enumerate(cells[:5]) if cell.replace(",", "").replace(".", "").isdigit()),
        default=0,
    )
    return (*map(str, range(before)), *_HEADLESS)


def _pair(row: Row, score: str, first: str, second: str) -> StsPair:
    try:
        value = float(score.replace(",", "."))
    except ValueError:
        value = float("nan")
    if not (np.isfinite(value) and first and second):
        raise HedgerowError(
            f"Expected a score and two sentences on {row.place}, found {score[:_SHOWN]!r}, "
            f"{first[:_SHOWN]!r} and {second[:_SHOWN]!r}."
        )
    return StsPair(value, first, second)


def spearman(pairs: Sequence[StsPair], cosines: Sequence[float] | np.ndarray) -> float:
    """Spearman's rank correlation of scores and cosines, in [-1, 1]; 0 if all cosines are equal."""
    if np.ptp(cosines) == 0:
        return 0.0
    from scipy.stats import spearmanr  # noqa: PLC0415  (loading it takes a second)

    return float(spearmanr([pair.score for pair in pairs], cosines).statistic)
