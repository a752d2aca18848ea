"""The table of scores, as in the papers: one line per model, one column per benchmark.

It is our own HTML, because cells of a data frame have one number, and no bold or underlined text.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from curation.formatting import decimal
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.diff import join
from training.benchmarks.results.paper_tables import DECIMALS, Line, ScoreCell, cells
from training.benchmarks.results.spending import details

LEGEND = (
    "Points from 0 to 100 (correlations from −100). Bold: the best measured model of a column; "
    "underlined: the second best."
)

_AFTER_A_SIGN = re.compile(r"(?<=[-_.])")
_NOTHING = Markup("")
_MARKS = {
    "best": Markup('<b title="best">{}</b>'),
    "second": Markup('<u title="second best">{}</u>'),
    "": Markup("<span>{}</span>"),
}


class Head(NamedTuple):
    """A column's title, and the lines below it in small letters."""

    title: str
    below: tuple[str, ...] = ()


def show(lines: Sequence[Line], heads: Mapping[str, Head], more: Sequence[str] = ()) -> None:
    """Draw the table. Published lines come last, below a heading.

    Args:
        heads: the columns' heads, by key.
        more: titles of columns from ``spending.DETAILS`` before these.
    """
    table = cells(lines, list(heads))
    rows = list(zip(lines, table, strict=True))
    measured = [_row(line, found, heads, more) for line, found in rows if not line.published]
    published = [_row(line, found, heads, more) for line, found in rows if line.published]
    markup.show(
        Markup(
            '<div class="hg-scores" tabindex="0" role="region" aria-label="Scores"><table>'
            "<thead><tr>{}</tr></thead><tbody>{}</tbody>{}</table></div>"
        ).format(_heads(heads, more), join(measured), _published(published, len(more) + len(heads)))
    )


def _heads(heads: Mapping[str, Head], more: Sequence[str]) -> Markup:
    cells = [Markup('<th scope="col">{}</th>').format(title) for title in ("Model", *more)]
    cells += [
        Markup('<th scope="col">{}{}</th>').format(head.title, join(map(_below, head.below)))
        for head in heads.values()
    ]
    return join(cells)


def _below(text: str) -> Markup:
    """A line below a title. A long file name breaks after a sign, not within a word."""
    parts = [Markup("{}").format(part) for part in _AFTER_A_SIGN.split(text)]
    return Markup("<small>{}</small>").format(Markup("<wbr>").join(parts))


def _published(rows: Sequence[Markup], columns: int) -> Markup:
    if not rows:
        return _NOTHING
    return Markup(
        '<tbody class="hg-published"><tr><th colspan="{}" scope="rowgroup">Published results on '
        "the papers' own data</th></tr>{}</tbody>"
    ).format(columns + 1, join(rows))


def _row(
    line: Line, found: Mapping[str, ScoreCell], heads: Mapping[str, Head], more: Sequence[str]
) -> Markup:
    note = f"trained from {line.base}" if line.base else line.source
    cells = [Markup("<td>{}</td>").format(text) for text in details(line, more, list(heads))]
    scores = [_cell(found.get(column)) for column in heads]
    name = Markup('<span class="hg-text" title="{}">{}</span>').format(line.name, line.model)
    return Markup('<tr><th scope="row">{}{}</th>{}</tr>').format(
        name, _small(note), join([*cells, *scores])
    )


def _cell(cell: ScoreCell | None) -> Markup:
    if cell is None:
        return Markup('<td aria-label="not measured">–</td>')
    return Markup("<td>{}{}{}</td>").format(
        _MARKS[cell.place].format(points(cell.score)), _delta(cell.delta), _interval(cell)
    )


def points(score: float) -> str:
    """A score as text."""
    return decimal(score, DECIMALS)


def _delta(delta: float | None) -> Markup:
    """The difference to the base model in points. The sign repeats the meaning of the colour."""
    if delta is None:
        return _NOTHING
    shown = decimal(delta, DECIMALS, sign=True)
    way = "same" if not shown.strip("+−0.") else "up" if delta > 0 else "down"
    return Markup(' <small class="hg-{}" title="against the base model">{}</small>').format(
        way, shown
    )


def _interval(cell: ScoreCell) -> Markup:
    if cell.interval is None:
        return _NOTHING
    low, high = points(cell.interval.low), points(cell.interval.high)
    return _small(f"{low} to {high}")


def _small(text: str) -> Markup:
    return Markup("<small>{}</small>").format(text) if text else _NOTHING
