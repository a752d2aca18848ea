"""Semantic textual similarity: pairs with human scores, and their correlation with cosines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from db.errors import HedgerowError
from db.named_files import read_text

LARGEST_FILE = 20 * 1024 * 1024
"""Maximum size of a file in bytes. The whole STS benchmark is a twentieth of it."""

FEWEST = 3
"""Minimum number of pairs for a meaningful rank correlation."""


class StsPair(NamedTuple):
    """Two sentences and their human similarity score, on any scale."""

    score: float
    first: str
    second: str


def read_sts(path: Path) -> list[StsPair]:
    """Read tab-separated lines of a score and two sentences. Quotation marks are part of the text.

    Lines with an empty score and a header line are left out.

    Raises:
        HedgerowError: the file can't be read, or a line has another format.
    """
    # Not splitlines, which also splits at other characters.
    lines = read_text(path, kind="an STS file", largest=LARGEST_FILE).split("\n")
    pairs = [
        pair
        for number, line in enumerate(lines, start=1)
        if line.strip() and (pair := _pair(line, number, path)) is not None
    ]
    if len(pairs) < FEWEST:
        raise HedgerowError(
            f"Expected at least {FEWEST} sentence pairs in {str(path)!r}, found {len(pairs)}."
        )
    if len({pair.score for pair in pairs}) == 1:
        raise HedgerowError(
            f"Expected different scores in {str(path)!r}, found {pairs[0].score:g} in every line."
        )
    return pairs


def _pair(line: str, number: int, path: Path) -> StsPair | None:
    score, _, sentences = line.partition("\t")
    first, _, second = sentences.partition("\t")
    second = second.partition("\t")[0]
    try:
        value = float(score) if score.strip() else None
    except ValueError:
        if number == 1:  # a header
            return None
        value = float("nan")
    if value is None:
        return None
    if not (np.isfinite(value) and first.strip() and second.strip()):
        raise HedgerowError(
            f"Expected a score and two sentences separated by tabs in line {number} of "
            f"{str(path)!r}."
        )
    return StsPair(value, first.strip(), second.strip())


def spearman(pairs: Sequence[StsPair], cosines: Sequence[float] | np.ndarray) -> float:
    """Spearman's rank correlation of scores and cosines, in [-1, 1]; 0 if all cosines are equal."""
    if np.ptp(cosines) == 0:
        return 0.0
    from scipy.stats import spearmanr  # noqa: PLC0415  (loading it takes a second)

    return float(spearmanr([pair.score for pair in pairs], cosines).statistic)
