"""Which published lines a table shows: SemAntoNeg's paper alone prints more than a hundred."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from training.benchmarks.results.paper_tables import Line

MOST_PUBLISHED = 24
"""Lines of a paper in the table of scores unless somebody searches: all of NevIR's."""


def paper_of(line: Line) -> str:
    """The short name of a published line's paper; '' for a measured line."""
    return line.source.partition(",")[0]


def shortened(
    lines: Sequence[Line], *, search: str = "", most: int = MOST_PUBLISHED
) -> tuple[list[Line], int]:
    """The measured lines, and those of the papers.

    A paper with few lines has them all, in its order. One with too many has those of the models
    that are measured here, and then those with the highest scores; or, in a search, those that are
    looked for. They are sorted by score.

    Args:
        search: words that a model's name must have in such a paper, in any case of letters.
        most: lines of a paper that are not too many.

    Returns:
        The lines, and how many published ones are left out.
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
