"""The chart of late interaction: which tokens of a document each token of a query finds."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from pages.components.shared.charts.palette import Palette, palette
from training.benchmarks.scorers.late_interaction import TokenMatrix

ROW, AROUND = 22, 150
"""Pixels a row of tokens, and for the tokens across, the legend and margins."""

_UNNUMBERED = "split(datum.label, '\\t')[1]"
"""Tokens may stand more than once: their place, which the axis leaves out, tells them apart."""


def draw(matrix: TokenMatrix, *, dark: bool) -> alt.LayerChart:
    """How alike the tokens of a query (down) and of a document (across) are: NevIR's Figure 9.

    What each token of the query finds best, which its score is the sum of, is framed.
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
            alt.Tooltip("first:N", title="Of the query"),
            alt.Tooltip("second:N", title="Of the document"),
            alt.Tooltip("value:Q", title="Similarity", format=".3f"),
            alt.Tooltip("best:N", title="Its best"),
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
        # Room for the last token across, which slopes beyond its column.
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
