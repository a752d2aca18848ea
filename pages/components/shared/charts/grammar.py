"""What our charts have in common, so that each says only its data and encodings.

Texts reach Vega as data, never as expressions; it draws them as plain text.
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, cast

import altair as alt
import numpy as np

from pages.components.shared.charts.palette import Palette

WHOLE_BAND = {"band": 1}
"""Fixed height of the bars: Vega-Lite misaligns grouped bars of other heights."""

BAR, GAP = 19, 16
"""Pixels per bar, and between two groups of bars."""

LINE = 15
"""Pixels per line of a label."""

AROUND, LEGEND_ROW = 100, 30
"""Pixels for axis and margins, and per row of the legend, within the height."""

LEGEND_WIDTH = 28
"""Characters of two names that fit next to each other in a legend."""

QUANTILES = {
    "median": "Median",
    "lower": "25th percentile",
    "upper": "75th percentile",
    "least": "10th percentile",
    "most": "90th percentile",
}
"""The fields of a box."""


def tips(*columns: tuple[str, ...]) -> list[alt.Tooltip]:
    """The lines of a tooltip: each a field with its type, a title and, for numbers, a format."""
    return [
        alt.Tooltip(field, title=title, format=form[0] if form else alt.Undefined)
        for field, title, *form in columns
    ]


def layered(*layers: Any, **properties: Any) -> alt.LayerChart:
    """Charts on top of each other."""
    return cast("alt.LayerChart", alt.layer(*layers).properties(**properties))


def plain_axis(**more: Any) -> alt.Axis:
    """An axis of names: all of them, without lines."""
    return alt.Axis(ticks=False, domain=False, labelOverlap=False, **more)


def slanted_heads(*, angle: Any, limit: int, **more: Any) -> alt.Axis:
    """The axis of a heat map's columns, above it."""
    return plain_axis(
        orient="top",
        labelAlign="left",
        labelPadding=6,
        labelFlush=False,
        labelAngle=angle,
        labelLimit=limit,
        **more,
    )


def colours_of(
    field: str, names: Sequence[str], paints: Sequence[str], above: alt.Legend | None
) -> alt.Color:
    """One colour for each name."""
    scale = alt.Scale(domain=list(names), range=list(paints))
    return alt.Color(field, scale=scale, legend=above)


def legend(ink: str, columns: int = 2, **more: Any) -> alt.Legend:
    """The legend above the bars."""
    return alt.Legend(
        labelColor=ink,
        title=None,
        orient="top",
        columns=columns,
        columnPadding=8,
        labelFontSize=13,
        symbolType="square",
        **more,
    )


def columns_for(series: Collection[str]) -> int:
    """The number of columns of a legend with these names, so that it fits a narrow window."""
    return 2 if sum(sorted(map(len, series))[-2:]) <= LEGEND_WIDTH else 1


def numbers(base: alt.Chart, ink: str, text: str, form: str = "", dx: int = 5) -> Any:
    """The numbers at the ends of bars."""
    shown = alt.Text(text, format=form) if form else alt.Text(text)
    return base.mark_text(align="left", baseline="middle", dx=dx, color=ink).encode(text=shown)


# -- Groups of bars below each other --------------------------------------------------------------


def groups(field: str, order: list[str]) -> alt.Y:
    """Groups of bars below each other, each next to its label of one or more lines.

    Vega puts the first line of a label next to the middle of its group. So all labels are moved up
    by half of the longest, and shorter ones get empty lines above.
    """
    most = _lines(order)
    empty = f"floor(({most} - length(split(datum.label, '\\n'))) / 2)"
    return alt.Y(
        f"{field}:N",
        sort=order,
        title=None,
        scale=alt.Scale(paddingInner=0.2, paddingOuter=0.1),
        axis=plain_axis(
            labelExpr=f"split(pad('', {empty}, '\\n') + datum.label, '\\n')",
            labelOffset=-(most - 1) * LINE / 2,
            labelLimit=215,
            labelLineHeight=LINE,
        ),
    )


def _lines(labels: Iterable[str]) -> int:
    """The lines of the longest label."""
    return max((label.count("\n") + 1 for label in labels), default=1)


def side_by_side(series: list[str]) -> alt.YOffset:
    """The bars of a group, in this order."""
    return alt.YOffset("series:N", sort=series, scale=alt.Scale(paddingInner=0.2))


def grouped(*layers: Any, labels: Collection[str], bars: int, columns: int = 2) -> alt.LayerChart:
    """The layers, high enough for the bars, the lines of their labels and the legend's columns."""
    group = max(bars * BAR, _lines(labels) * LINE) + GAP
    around = AROUND + LEGEND_ROW * math.ceil(bars / columns)
    return layered(*layers, height=len(labels) * group + around)


def boxes(base: alt.Chart, colours: Palette, x: alt.X) -> list[Any]:
    """Three layers that draw the fields of `QUANTILES`: a line, a bar and a tick.

    Args:
        x: the axis, with the field ``least``.
    """
    return [
        base.mark_rule(strokeWidth=1.5).encode(x=x, x2="most:Q"),
        base.mark_bar(height=WHOLE_BAND).encode(x=alt.X("lower:Q"), x2="upper:Q"),
        base.mark_tick(thickness=3, color=colours.ink, height=WHOLE_BAND).encode(
            x="median:Q", color=alt.value(colours.ink)
        ),
    ]


# -- Points with labels ---------------------------------------------------------------------------


def spaced(
    places: Sequence[tuple[float, float]],
    rank: Callable[[int], Any],
    near: tuple[float, float],
) -> set[int]:
    """The indices of points whose labels don't cover those of more important points.

    Args:
        rank: index of a point → sort key; the most important point has the lowest.
        near: smallest distance between two labels, as shares of the chart's width and height.
    """
    points = np.array(places, dtype=float).reshape(-1, 2)
    spans = np.ptp(points, axis=0) if len(points) else 1.0
    points /= np.where(spans, spans, 1.0) * np.array(near)
    shown: list[int] = []
    for at in sorted(range(len(points)), key=rank):
        if all((np.abs(points[at] - points[other]) >= 1).any() for other in shown):
            shown.append(at)
    return set(shown)
