"""The published lines that a table shows: SemAntoNeg's paper alone prints more than a hundred."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from training.benchmarks.results.paper_tables import Line

MOST_PUBLISHED = 24
"""Maximum number of lines per paper in the table of scores without a search: all of NevIR's."""


def paper_of(line: Line) -> str:
    """The short name of a published line's paper; '' for a measured line."""
    return line.source.partition(",")[0]


def shortened(
    lines: Sequence[Line], *, search: str = "", most: int = MOST_PUBLISHED
) -> tuple[list[Line], int]:
    """The measured lines, and those of the papers.

    A paper with few lines is shown completely, in its own order. Otherwise the lines of models that
    are measured here come first, then those with the highest scores. A search shows the matching
    lines. These selections are sorted by score.

    Args:
        search: words that a model's name must contain in a paper with too many lines; case does not
            matter.
        most: the maximum number of lines of a paper that is shown completely.

    Returns:
        The lines, and the number of published lines that are left out.
    """
    measured = [line for line in lines if not line.published]
    published = [line for line in lines if line.published]
    words, known = search.casefold().split(), {_short(line.model) for line in measured}
    found: list[Line] = []
    for paper in dict.fromkeys(map(paper_of, published)):
        own = [line for line in published if paper_of(line) == paper]
        if len(own) > most:
            own = _with_words(own, words) if words else _first(own, known, most)
        found += own
    return measured + found, len(published) - len(found)


def _with_words(lines: list[Line], words: Sequence[str]) -> list[Line]:
    found = [line for line in lines if all(word in line.model.casefold() for word in words)]
    return sorted(found, key=lambda line: -_best(line))


def _first(lines: list[Line], known: Iterable[str], most: int) -> list[Line]:
    names = set(known)
    ordered = sorted(lines, key=lambda line: (_short(line.model) not in names, -_best(line)))
    return sorted(ordered[:most], key=lambda line: -_best(line))


def _best(line: Line) -> float:
    return max(line.scores.values(), default=0.0)


def _short(model: str) -> str:
    """A model's name without its owner or folder."""
    return model.rstrip("/").rpartition("/")[2].casefold()
