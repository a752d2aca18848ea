"""A table as in the papers: one row per model, the best two marked, and the papers' own numbers."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from curation.formatting import escaped
from db.errors import HedgerowError
from training.benchmarks.results.statistics import Interval, Rank, places

DECIMALS = 1


class PerItem(NamedTuple):
    """Mean time and cost per item; None if not measured.

    Attributes:
        cost: US dollars; None for a model without a price, such as a local one.
    """

    seconds: float | None
    cost: float | None


@dataclass(frozen=True)
class Line:
    """A model's scores in points, by benchmark. Published scores are not ranked with measured ones.

    Attributes:
        name: the model's full name; '' of a published one.
        base: the line of the model that this one was trained from; '' if there is none.
        source: the paper and the table of a published line, separated by a comma.
        kind: the architecture.
        spent: time and cost per item of a measured model, by benchmark.
    """

    model: str
    scores: Mapping[str, float]
    published: bool = False
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    base: str = ""
    source: str = ""
    kind: str = ""
    name: str = ""
    spent: Mapping[str, PerItem] = field(default_factory=dict)


@dataclass(frozen=True)
class ScoreCell:
    """A score as displayed.

    Attributes:
        place: the rank among the measured lines; '' for a published line.
        delta: difference to the base model in points; None without a base model.
    """

    score: float
    place: Rank
    delta: float | None
    interval: Interval | None


def cells(lines: Sequence[Line], columns: Sequence[str]) -> list[dict[str, ScoreCell]]:
    """The cells of each line, for the columns in which it has a score.

    Raises:
        HedgerowError: a line's base model has no measured line.
    """
    measured = {number: line for number, line in enumerate(lines) if not line.published}
    bases = {line.model: line for line in measured.values()}
    for name in (line.base for line in measured.values() if line.base):
        if name not in bases:
            raise HedgerowError(
                f"Expected a measured row of the base model {name[:60]!r}, found none; run it, "
                "or leave the base model out."
            )
    table: list[dict[str, ScoreCell]] = [{} for _ in lines]
    for column in columns:
        ranked = {
            str(n): line.scores[column] for n, line in measured.items() if column in line.scores
        }
        marks = places(ranked, decimals=DECIMALS)
        for number, line in enumerate(lines):
            if column in line.scores:
                start = None if line.published else bases.get(line.base)
                table[number][column] = ScoreCell(
                    score=line.scores[column],
                    place=marks.get(str(number), ""),
                    delta=_delta(line, start, column),
                    interval=line.intervals.get(column),
                )
    return table


def _delta(line: Line, start: Line | None, column: str) -> float | None:
    if start is None or start is line or column not in start.scores:
        return None
    return line.scores[column] - start.scores[column]


def latex(
    lines: Sequence[Line],
    titles: Mapping[str, str],
    *,
    caption: str = "",
    details: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The table in LaTeX (needs the package booktabs): the best bold, the second underlined.

    Published lines come last, under a rule, in italics.

    Args:
        titles: the titles of the columns, by benchmark, in their order.
        details: further columns before these: title → one text per line.
    """
    more = dict(details or {})
    table = cells(lines, list(titles))
    order = sorted(range(len(lines)), key=lambda number: lines[number].published)
    head = " & ".join(["Model", *map(escaped, [*more, *titles.values()])])
    out = [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{l{'l' * len(more)}{'r' * len(titles)}}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
    ]
    for place, number in enumerate(order):
        line = lines[number]
        if line.published and place and not lines[order[place - 1]].published:
            out.append(r"\midrule")
        name = rf"\textit{{{escaped(line.model)}}} (published)" if line.published else None
        shown = [escaped(texts[number]) for texts in more.values()]
        shown += [_shown(table[number].get(column)) for column in titles]
        out.append(rf"{' & '.join([name or escaped(line.model), *shown])} \\")
    out += [r"\bottomrule", r"\end{tabular}"]
    if caption:
        out.append(rf"\caption{{{escaped(caption)}}}")
    return "\n".join([*out, r"\end{table}"]) + "\n"


def _shown(cell: ScoreCell | None) -> str:
    if cell is None:
        return "--"
    number = f"{cell.score:.{DECIMALS}f}".replace("-", "$-$")
    marks = {"best": rf"\textbf{{{number}}}", "second": rf"\underline{{{number}}}", "": number}
    return marks[cell.place]


# -- published ------------------------------------------------------------------------------------
#
# The numbers in the papers. They are shown next to measured ones but not ranked with them.


FILE = Path(__file__).with_name("published.json")

SEMANTONEG = Path(__file__).with_name("semantoneg_table_8.json")
"""One benchmark and 123 models: a name and its score per line."""

NEGATION, GENERAL, LANGUAGE = "negation", "general", "lm_eval"
"""The benchmark value of a line that is an average over several tests: the four negation
benchmarks, MTEB's kinds of tasks (one kind is 'general:STS'), or lm_eval's tasks (one task is
'lm_eval:mmlu').
"""


class Published(NamedTuple):
    """A score printed in a paper.

    Attributes:
        benchmark: the id of one of ``catalogue.BENCHMARKS``, or `NEGATION`, `GENERAL` or
            `LANGUAGE`.
        label: the paper's name for the benchmark.
        model: the paper's name for the model.
        hub: the model's name on the model hub; '' if the paper gives none.
        score: in points.
        table, title, paper: the place in the paper, and the paper.
        suite: for a general average, the suite of MTEB: 'full' or 'lite'; otherwise ''.
        kind: the model's architecture.
        published: its mark in a table; a measured score has none.
    """

    benchmark: str
    label: str
    model: str
    hub: str
    score: float
    table: str
    title: str
    paper: str
    suite: str
    kind: str
    published: Literal[True] = True


@cache
def published() -> tuple[Published, ...]:
    """All published scores, table by table and line by line, as printed.

    Five of HedgeTriple's averages over the negation benchmarks do not match the scores in their
    lines. The file's note names them.
    """
    tables = json.loads(FILE.read_text(encoding="utf-8"))["tables"]
    numbers = [number for table in tables for number in _numbers(table)]
    return (*numbers, *_numbers(_of_one_benchmark(SEMANTONEG)))


def _of_one_benchmark(file: Path) -> dict[str, Any]:
    """Convert a table with one benchmark to the format of tables with several."""
    table: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    scores: dict[str, float | None] = table["scores"]
    models = [
        {"name": name, "hub": f"{table['hub']}{name}", "kind": table["kind"]} for name in scores
    ]
    row = {name: table[name] for name in ("label", "benchmark")}
    return table | {"models": models, "rows": [row | {"scores": list(scores.values())}]}


def _numbers(table: dict[str, Any]) -> Iterator[Published]:
    for row in table["rows"]:
        for model, score in zip(table["models"], row["scores"], strict=True):
            if score is not None:
                yield Published(
                    row["benchmark"],
                    row["label"],
                    model["name"],
                    model["hub"],
                    float(score),
                    table["id"],
                    table["title"],
                    table["paper"],
                    table["suite"],
                    model["kind"],
                )


# -- published lines ------------------------------------------------------------------------------
#
# The published lines that a table shows: SemAntoNeg's paper alone prints more than a hundred.


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
