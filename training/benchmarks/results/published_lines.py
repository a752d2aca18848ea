"""Which published lines a table shows: SemAntoNeg's paper alone prints more than a hundred."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from training.benchmarks.results.paper_tables import Line

MOST_PUBLISHED = 24
"""Lines of a paper in the table of scores unless somebody searches: all of NevIR's."""


def paper_of(line: Line) -> str:
    """What the paper of a published line is called for short; '' of a measured line."""
    return line.source.partition(",")[0]


def shortened(
    lines: Sequence[Line], *, search: str = "", most: int = MOST_PUBLISHED
) -> tuple[list[Line], int]:
    """The measured lines, and of each paper those that are looked for.

    Without a search, a paper with too many lines has those of the models that are measured here,
    and then those with the highest scores.

    Args:
        search: words that a published model's name must have, in any case of letters.
        most: lines of a paper without a search.

    Returns:
        The lines, and how many published ones are left out.
    """
    measured = [line for line in lines if not line.published]
    published = [line for line in lines if line.published]
    if words := search.casefold().split():
        found = [line for line in published if all(w in line.model.casefold() for w in words)]
    else:
        known = {_short(line.model) for line in measured}
        papers = dict.fromkeys(map(paper_of, published))
        found = [
            line
            for paper in papers
            for line in _first([line for line in published if paper_of(line) == paper], known, most)
        ]
    return measured + found, len(published) - len(found)


def _first(lines: list[Line], known: Iterable[str], most: int) -> list[Line]:
    if len(lines) <= most:
        return lines
    names = set(known)
    ordered = sorted(lines, key=lambda line: (_short(line.model) not in names, -_best(line)))
    return sorted(ordered[:most], key=lambda line: -_best(line))


def _best(line: Line) -> float:
    return max(line.scores.values(), default=0.0)


def _short(model: str) -> str:
    """A model's name without its owner or folder."""
    return model.rstrip("/").rpartition("/")[2].casefold()
