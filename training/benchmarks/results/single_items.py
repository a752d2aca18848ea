"""Single items of results: their comparisons, filters, and pairs of models."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from db.settings import Settings
from training.benchmarks.definition import ItemResult, Result
from training.benchmarks.scorers.architecture import load_scorer
from training.benchmarks.scorers.interface import OWN_PROMPTS, Prompts
from training.benchmarks.scorers.late_interaction import LateInteraction, TokenMatrix
from training.benchmarks.tasks.common_forms import MOST_GRADES
from training.benchmarks.tasks.own_families import POSITIVE
from training.models.known import location_of

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


TENTHS = 10

ANY, ONLY_FIRST, ONLY_SECOND, BOTH, NEITHER = AGREEMENTS = (
    "any",
    "only the first",
    "only the second",
    "both",
    "neither",
)
"""Which of two models answered an item correctly."""

_NUMBER = re.compile(r" \d+$")
"""The number at the end of the name of a type's second and later variants."""

_QUERIES, _DOCUMENTS = ("q1", "q2"), ("doc1", "doc2")


class ComparedTexts(NamedTuple):
    """Two texts of an item that a model compared.

    Attributes:
        query, candidate: their labels in `ItemResult.texts`.
        score: the model's score; NaN if it gave none.
    """

    query: str
    candidate: str
    score: float


class Grade(NamedTuple):
    """The ranks that a model gives to the pairs with the same human score.

    Attributes:
        name: the score, or the range of scores.
        quantiles: the `QUANTILES` of the pairs' ranks among all pairs that the model scored, from 0
            (least similar) to 1. The correlation uses ranks, too, and they make models with
            different scales comparable.
    """

    name: str
    n: int
    quantiles: tuple[float, ...]


@dataclass(frozen=True)
class ItemFilter:
    """A filter for items.

    Attributes:
        outcome: the outcome of the first model; '' means any.
        part: the (breakdown, value) that an item must belong to; None means any.
        agreement: one of `AGREEMENTS`, if there is a second model.
        text: a part of one of its texts; case does not matter.
    """

    outcome: str = ""
    part: tuple[str, str] | None = None
    agreement: str = ANY
    text: str = ""


class ItemOutcomes(NamedTuple):
    """The results of the first and, if there is one, the second model on an item."""

    first: ItemResult
    second: ItemResult | None


def compared(row: ItemResult) -> list[ComparedTexts]:
    """The comparisons in an item, in the order of its scores."""
    names = list(row.texts)
    if names[:2] == list(_QUERIES):  # NevIR: each query with both documents
        pairs = list(product(_QUERIES, _DOCUMENTS))
    else:
        pairs = [(names[0], candidate) for candidate in names[1:]]
    return [ComparedTexts(*pair, score) for pair, score in zip(pairs, row.scores, strict=True)]


def nearest(row: ItemResult) -> ComparedTexts | None:
    """The wrong text that the model finds most similar; None if each of several queries has its
    own, or if there are no scores.

    The correct texts are the last candidate in SemAntoNeg, the first in ExcluIR, and the positives
    in Hedgerow's benchmark.
    """
    found = [one for one in compared(row) if np.isfinite(one.score)]
    if len({one.query for one in found}) != 1:
        return None
    wrong = [one for one in found if one.candidate not in right_candidates(row)]
    return max(wrong, key=lambda one: one.score, default=None)


def right_candidates(row: ItemResult) -> set[str]:
    """The names of the texts that a correct model finds most similar; empty if the benchmark has
    none."""
    near = {mark.value for mark in row.marks if mark.breakdown == POSITIVE}
    names = set(row.texts)
    if near:
        return {name for name in names if _NUMBER.sub("", name) in near}
    return names & {"both", "wanted"}


def items(
    first: Result, second: Result | None = None, *, wanted: ItemFilter | None = None
) -> list[ItemOutcomes]:
    """The items that match the filter. For a correlation, the largest rank errors come first.

    Args:
        second: the result of the second model, for the same benchmark and data; items that it lacks
            get no second result.
    """
    wanted = wanted or ItemFilter()
    others = {row.key: row for row in second.rows} if second else {}
    rows = _worst_first(first.rows) if first.kind == "spearman" else first.rows
    found = (ItemOutcomes(row, others.get(row.key)) for row in rows)
    return [item for item in found if _is_wanted(item, wanted)]


def _is_wanted(item: ItemOutcomes, wanted: ItemFilter) -> bool:
    row, other = item
    if wanted.outcome and row.outcome != wanted.outcome:
        return False
    if wanted.part and wanted.part not in [(mark.breakdown, mark.value) for mark in row.marks]:
        return False
    if wanted.agreement != ANY and (other is None or _agreement(row, other) != wanted.agreement):
        return False
    needle = wanted.text.casefold()
    return not needle or any(needle in text.casefold() for text in row.texts.values())


def _agreement(row: ItemResult, other: ItemResult) -> str:
    if row.right:
        return BOTH if other.right else ONLY_FIRST
    return ONLY_SECOND if other.right else NEITHER


def _worst_first(rows: Sequence[ItemResult]) -> list[ItemResult]:
    """Sorted by the difference between a pair's ranks in the model's and the human scores."""
    answered = [row for row in rows if row.answered and row.gold is not None]
    if not answered:
        return list(rows)
    distances = np.abs(
        _ranks([row.gold for row in answered]) - _ranks([r.scores[0] for r in answered])
    )
    order = np.argsort(-distances, kind="stable")
    rest = [row for row in rows if not row.answered or row.gold is None]
    return [answered[at] for at in order] + rest


def _ranks(values: Sequence[Any]) -> np.ndarray:
    from scipy.stats import rankdata  # noqa: PLC0415  (loading it takes a second)

    return rankdata(values)


def grades(result: Result) -> list[Grade]:
    """The pairs of a correlation by human score, the highest first.

    More than `MOST_GRADES` different scores are put into ten groups of about equal size.
    """
    rows = [row for row in result.rows if row.answered and row.gold is not None]
    gold = np.array([row.gold for row in rows], dtype=np.float64)
    given = (_ranks([row.scores[0] for row in rows]) - 1) / max(1, len(rows) - 1)
    values = np.unique(gold)
    if len(values) <= MOST_GRADES:
        groups = [(f"{value + 0.0:g}", gold == value) for value in values]  # not -0
    else:
        edges = np.unique(np.quantile(gold, np.linspace(0, 1, TENTHS + 1)))
        places = np.clip(np.searchsorted(edges, gold, side="right") - 1, 0, len(edges) - 2)
        groups = [
            (f"{edges[at]:.2g} to {edges[at + 1]:.2g}", places == at)
            for at in range(len(edges) - 1)
        ]
    return [
        Grade(name, int(of.sum()), tuple(map(float, np.quantile(given[of], QUANTILES))))
        for name, of in reversed(groups)
        if of.any()
    ]


def as_table(found: Sequence[ItemOutcomes]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Items as the header and rows of a table: texts, scores and outcomes of both models."""
    if not found:
        return ["item"], []
    names = list(dict.fromkeys(name for item in found for name in item.first.texts))
    pairs = list(
        dict.fromkeys(
            f"{one.query} : {one.candidate}" for item in found for one in compared(item.first)
        )
    )
    second = any(item.second for item in found)
    head = ["item", "outcome", "right", "gold", *names, *(f"score {pair}" for pair in pairs)]
    if second:
        head += ["outcome 2", "right 2", *(f"score 2 {pair}" for pair in pairs)]
    return head, [_line(item, names, pairs, second) for item in found]


def _line(
    item: ItemOutcomes, names: Sequence[str], pairs: Sequence[str], second: bool
) -> tuple[Any, ...]:
    row, other = item
    texts = [row.texts.get(name, "") for name in names]
    line: list[Any] = [row.key, row.outcome, row.right, row.gold, *texts, *_scores(row, pairs)]
    if second:
        line += [other and other.outcome, other and other.right]
        line += _scores(other, pairs) if other else [None] * len(pairs)
    return tuple("" if value is None else value for value in line)


def _scores(row: ItemResult, pairs: Sequence[str]) -> list[float | None]:
    own = {f"{one.query} : {one.candidate}": one.score for one in compared(row)}
    return [
        round(own[pair], 6) if pair in own and np.isfinite(own[pair]) else None for pair in pairs
    ]


# -- The token matches of a late-interaction model for a pair of texts ----------------------------


def token_matrix(
    session: Session,
    settings: Settings,
    name: str,
    query: str,
    document: str,
    *,
    prompts: Prompts = OWN_PROMPTS,
) -> TokenMatrix:
    """The token matches of a late-interaction model for a pair of texts (NevIR's Figure 9).

    The last model stays loaded.

    Args:
        name: the model's name in results.

    Raises:
        HedgerowError: it can't be loaded, or is not a late-interaction model.
    """
    place = location_of(session, settings, name)
    hash_ = place.checked()
    scorer = _late(place.name, hash_)
    scorer.given_prompts = prompts
    return scorer.tokens(query, document)


@lru_cache(maxsize=1)
def _late(place: str, hash_: str) -> LateInteraction:
    scorer = load_scorer(place, LateInteraction.architecture)
    assert isinstance(scorer, LateInteraction)  # other architectures are refused
    return scorer
