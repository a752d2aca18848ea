"""A table as in the papers: one row per model, one column per benchmark, the best two marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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
