"""The late-interaction chart: which document tokens match each query token."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from pages.components.shared.charts.palette import Palette, palette
from training.benchmarks.scorers.late_interaction import TokenMatrix

ROW, AROUND = 22, 150
"""Height in pixels of a row of tokens, and of the column headers, legend and margins."""

_UNNUMBERED = "split(datum.label, '\\t')[1]"
"""Tokens may repeat: their position distinguishes them; the axis leaves it out."""


def draw(matrix: TokenMatrix, *, dark: bool) -> alt.LayerChart:
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
        tooltip=[
            alt.Tooltip("first:N", title="Query token"),
            alt.Tooltip("second:N", title="Document token"),
            alt.Tooltip("value:Q", title="Similarity", format=".3f"),
            alt.Tooltip("best:N", title="Best match"),
        ],
    )
    low, high = float(matrix.similarity.min()), float(matrix.similarity.max())
    scale = alt.Scale(domain=[low, max(high, low + 1e-6)], range=list(colours.sequential))
    bar = alt.Legend(title=None, orient="bottom", labelColor=colours.ink, gradientLength=180)
    cells = base.mark_rect().encode(color=alt.Color("value:Q", scale=scale, legend=bar))
    best = base.transform_filter("datum.best").mark_rect(
        filled=False, stroke=colours.ink, strokeWidth=2
    )
    height = ROW * len(down) + AROUND
    chart: Any = alt.layer(cells, best).properties(
        height=height,
        # Space for the last column header, which is slanted.
        padding={"left": 5, "top": 5, "right": 50, "bottom": 5},
    )
    return chart


def _numbered(names: Sequence[str]) -> list[str]:
    return [f"{number:03}\t{name}" for number, name in enumerate(names)]


def _axis(colours: Palette, **more: Any) -> alt.Axis:
    return alt.Axis(
        labelExpr=_UNNUMBERED,
        labelOverlap=False,
        labelLimit=110,
        ticks=False,
        domain=False,
        labelColor=colours.ink,
        titleColor=colours.ink,
        **more,
    )
