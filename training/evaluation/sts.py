"""Semantic textual similarity: pairs with human scores, and their correlation with cosines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from curation.tables.columns import named
from curation.tables.delimited import listed
from curation.tables.json_values import cell_text
from curation.tables.table import Row, open_bytes
from db.errors import HedgerowError
from db.named_files import read_bytes

LARGEST_FILE = 20 * 1024 * 1024
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
    content = read_bytes(path, kind="an STS file", largest=LARGEST_FILE)
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
