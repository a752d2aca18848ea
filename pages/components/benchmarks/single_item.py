"""One item of a benchmark: its texts, their differences, scores, and matching tokens."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd
from markupsafe import Markup

from curation.diagnostics.surface import marks
from pages.components.benchmarks.names import outcome
from pages.components.shared import formatting, links
from pages.components.shared.charts.grammar import layered, plain_axis, tips
from pages.components.shared.charts.palette import Palette, palette
from training.benchmarks.definition import ItemResult
from training.benchmarks.results.single_items import ComparedTexts, compared, right_candidates
from training.benchmarks.scorers.late_interaction import TokenMatrix

_NOTHING = Markup("")
_NUMBER = re.compile(r" \d+$")

LABELS: Mapping[str, str] = {
    "q1": "Query 1",
    "q2": "Query 2",
    "doc1": "Document 1",
    "doc2": "Document 2",
    "query": "Query",
    "wanted": "Asked for",
    "excluded": "Excluded by the query",
    "input": "Input",
    "antonym": "Antonym changed",
    "negation": "Negation changed",
    "both": "Both changed",
    "first": "First",
    "second": "Second",
    "anchor": "Anchor",
}
"""Label of a text; a variant has its type's label."""

BESIDE: Mapping[str, str] = {"q2": "q1", "doc2": "doc1"}
"""Texts that are compared with another text than the item's first."""

ANSWERS: Mapping[str, str] = {"doc1": "answers query 1", "doc2": "answers query 2"}


def draw(sides: Mapping[str, ItemResult], type_names: Mapping[str, str]) -> None:
    """Draw an item with the scores of one or two models.

    Args:
        sides: a model's letter → its scores of the item. The first one's order the texts.
        type_names: labels of variant types.
    """
    row = next(iter(sides.values()))
    parts = [_text(row, name, sides, type_names) for name in _order(row)]
    formatting.emit(
        Markup('<div class="hg-card hg-siblings hg-item">{}{}</div>').format(
            _outcomes(sides, row.gold), formatting.join(parts)
        )
    )


def _outcomes(sides: Mapping[str, ItemResult], gold: float | None) -> Markup:
    outcomes = [f"{letter}: {outcome(row.outcome)}" for letter, row in sides.items()]
    if gold is not None:
        outcomes.append(f"people: {gold:g}")
    return Markup('<div class="hg-head">{}</div>').format(
        formatting.join(Markup("<span>{}</span>").format(part) for part in outcomes)
    )


def _order(row: ItemResult) -> list[str]:
    """The item's own text first, then the others, the closest first."""
    found = compared(row)
    if len({one.query for one in found}) > 1:
        return list(row.texts)
    ranked = sorted(found, key=lambda one: -one.score if math.isfinite(one.score) else math.inf)
    return [found[0].query, *(one.candidate for one in ranked)]


def _text(
    row: ItemResult, name: str, sides: Mapping[str, ItemResult], type_names: Mapping[str, str]
) -> Markup:
    type_id = _NUMBER.sub("", name)  # from the second variant of a type on, they are numbered
    label = LABELS.get(name) or name.replace(type_id, type_names.get(type_id, type_id), 1)
    expected = _expected(row, name)
    return Markup(
        '<div class="hg-row"><span class="hg-label">{}{}{}</span><div>{}{}</div></div>'
    ).format(
        label,
        Markup("<small>{}</small>").format(expected) if expected else _NOTHING,
        _record(row, name),
        _sentence(row, name),
        _scores(sides, name),
    )


def _expected(row: ItemResult, name: str) -> str:
    """Where a correct model would rank this text."""
    near = right_candidates(row)
    if not near or name == next(iter(row.texts)):
        return ANSWERS.get(name, "")
    return "should be near" if name in near else "should be far"


def _record(row: ItemResult, name: str) -> Markup:
    """A link to the record of a text that is in the project."""
    uid = row.uids.get(name, "")
    if not uid:
        return _NOTHING
    is_anchor = name == "anchor"
    return Markup('<small><a href="{}">Open in {}</a></small>').format(
        links.anchor(uid) if is_anchor else links.permalink(uid),
        "Anchors" if is_anchor else "Review",
    )


def _sentence(row: ItemResult, name: str) -> Markup:
    """A text, with marks on its negators and on the words that the compared text does not have."""
    first = next(iter(row.texts))
    alone = name == first or name in BESIDE.values()
    text, other = row.texts[name], row.texts[name if alone else BESIDE.get(name, first)]
    return formatting.diff(other, text, marks(anchor="" if alone else other, text=text, cue=None))[
        1
    ]


def _scores(sides: Mapping[str, ItemResult], name: str) -> Markup:
    chips = [
        _chip(letter, one, several=len({o.query for o in found}) > 1)
        for letter, row in sides.items()
        for found in [compared(row)]
        for one in found
        if one.candidate == name
    ]
    return (
        Markup('<div class="hg-chips">{}</div>').format(formatting.join(chips))
        if chips
        else _NOTHING
    )


def _chip(letter: str, one: ComparedTexts, *, several: bool) -> Markup:
    where = f"{letter}, {LABELS.get(one.query, one.query).lower()} " if several else f"{letter} "
    score = f"{one.score:.3f}" if math.isfinite(one.score) else "no answer"
    return Markup('<span class="hg-chip">{}<b>{}</b></span>').format(where, score)


# -- The late-interaction chart: which document tokens match each query token ---------------------


ROW, AROUND = 22, 150
"""Height in pixels of a row of tokens, and of the column headers, legend and margins."""

_UNNUMBERED = "split(datum.label, '\\t')[1]"
"""Tokens may repeat: their position distinguishes them; the axis leaves it out."""


def token_chart(matrix: TokenMatrix, *, dark: bool) -> alt.LayerChart:
    """Similarity of the tokens of a query (rows) and a document (columns): NevIR's Figure 9.

    Frames mark the best match of each query token; the score is their sum.
    """
    colours = palette(dark=dark)
    down, across = _numbered(matrix.query), _numbered(matrix.document)
    table = pd.DataFrame(
        [
            {
                "query": down[row],
                "document": across[column],
                "first": matrix.query[row],
                "second": matrix.document[column],
                "value": round(float(value), 3),
                "best": bool(matrix.best[row] == column),
            }
            for row, line in enumerate(matrix.similarity)
            for column, value in enumerate(line)
        ]
    )
    base = alt.Chart(table).encode(
        y=alt.Y("query:N", sort=down, title="query", axis=_axis(colours)),
        x=alt.X(
            "document:N",
            sort=across,
            title="document",
            axis=_axis(colours, orient="top", labelAngle=-60, labelAlign="left"),
        ),
        tooltip=tips(
            ("first:N", "Query token"),
            ("second:N", "Document token"),
            ("value:Q", "Similarity", ".3f"),
            ("best:N", "Best match"),
        ),
    )
    low, high = float(matrix.similarity.min()), float(matrix.similarity.max())
    scale = alt.Scale(domain=[low, max(high, low + 1e-6)], range=list(colours.sequential))
    bar = alt.Legend(title=None, orient="bottom", labelColor=colours.ink, gradientLength=180)
    cells = base.mark_rect().encode(color=alt.Color("value:Q", scale=scale, legend=bar))
    best = base.transform_filter("datum.best").mark_rect(
        filled=False, stroke=colours.ink, strokeWidth=2
    )
    return layered(
        cells,
        best,
        height=ROW * len(down) + AROUND,
        # Space for the last column header, which is slanted.
        padding={"left": 5, "top": 5, "right": 50, "bottom": 5},
    )


def _numbered(names: Sequence[str]) -> list[str]:
    return [f"{number:03}\t{name}" for number, name in enumerate(names)]


def _axis(colours: Palette, **more: Any) -> alt.Axis:
    return plain_axis(
        labelExpr=_UNNUMBERED,
        labelLimit=110,
        labelColor=colours.ink,
        titleColor=colours.ink,
        **more,
    )
