"""Distance against similarity: a small heat map of counts for each type.

Distances are integers, so one symbol per variant would hide thousands under others. There is one
plain chart per type instead of a faceted chart, because Streamlit only supports selections in plain
charts and a faceted chart does not follow the width of the page.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from curation.diagnostics.distributions import COSINE_BINS, PairCount, cosine_bounds
from pages.components.diagnostics.histogram_charts import TENTHS, Axis, character_axis
from pages.components.shared.charts.palette import palette

BRUSH, PLACE = "brush", "place"
"""Names of the two selections: a dragged region and a clicked cell."""

HEIGHT = 220
"""Height in pixels of a chart with its axes."""

PRINTED = 3
"""Charts per row in a saved picture, and the width of each in pixels."""
PRINTED_WIDTH = 190

FAINTEST = 0.25
"""Opacity of a cell with one variant; the fullest cell of a type is opaque."""


class Region(NamedTuple):
    """Ranges of distances and cosine bins; both ends are included."""

    distances: tuple[int, int]
    bins: tuple[int, int]


class Axes(NamedTuple):
    """The axes that compared charts share: the columns, and the lowest cosine."""

    distance: Axis
    lowest: float


def axes_of(rows: Iterable[PairCount]) -> Axes:
    """The axes for these rows; pass all rows of a project so that a filter does not move them."""
    counts: Counter[int] = Counter()
    lowest = 1.0
    for row in rows:
        counts[row.levenshtein] += row.number
        lowest = min(lowest, cosine_bounds(row.cosine_bin, row.cosine_bin)[0])
    return Axes(character_axis({"": counts}), math.floor(lowest * 10) / 10)


class TypePairs(NamedTuple):
    """The pairs of one type: its label, role, rows and axes."""

    label: str
    role: str
    rows: Sequence[PairCount]
    axes: Axes


def draw(pairs: TypePairs, *, dark: bool) -> alt.Chart:
    """The chart of one type, with the selections ``BRUSH`` (drag) and ``PLACE`` (click)."""
    place = alt.selection_point(name=PLACE, fields=["x", "bin"])
    marked = alt.when(place, empty=False)
    return (
        _cells(pairs, dark=dark)
        .encode(strokeWidth=marked.then(alt.value(2)).otherwise(alt.value(0)))
        .add_params(alt.selection_interval(name=BRUSH, encodings=["x", "y"]), place)
        .properties(height=HEIGHT)
    )


def printed(types: Sequence[TypePairs], *, dark: bool) -> alt.ConcatChart:
    """All types in one picture, each with its name."""
    charts = [
        _cells(pairs, dark=dark).properties(
            title=pairs.label, width=PRINTED_WIDTH, height=PRINTED_WIDTH
        )
        for pairs in types
    ]
    return alt.concat(*charts, columns=PRINTED)


def _cells(pairs: TypePairs, *, dark: bool) -> alt.Chart:
    colours = palette(dark=dark)
    cells = _counted(pairs.rows, pairs.axes.distance)
    most = max((cell["number"] for cell in cells), default=1)
    return (
        alt.Chart(pd.DataFrame(cells))
        .mark_rect(color=colours.roles[pairs.role], stroke=colours.ink, strokeWidth=0)
        .encode(
            x=alt.X(
                "x:Q",
                title="Levenshtein distance",
                scale=alt.Scale(domain=[-0.5, pairs.axes.distance.end - 0.5], nice=False),
                axis=alt.Axis(tickCount=4, tickMinStep=1),
            ),
            x2="x2:Q",
            y=alt.Y(
                "y:Q",
                title="cosine",
                scale=alt.Scale(domain=[pairs.axes.lowest, 1.0], nice=False),
                axis=alt.Axis(format=".1f", values=TENTHS, labelOverlap=True),
            ),
            y2="y2:Q",
            opacity=alt.Opacity(
                "number:Q",
                scale=alt.Scale(type="sqrt", domain=[0, most], range=[FAINTEST, 1]),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("distance:N", title="Distance"),
                alt.Tooltip("cosine:N", title="Cosine"),
                alt.Tooltip("number:Q", title="Variants", format=","),
            ],
        )
    )


def _counted(rows: Iterable[PairCount], axis: Axis) -> list[dict[str, Any]]:
    """One cell per column and bin with variants, the fullest first."""
    counts: Counter[tuple[int, int]] = Counter()
    for row in rows:
        counts[axis.bin_of(row.levenshtein), row.cosine_bin] += row.number
    cells = []
    for (column, at), number in counts.most_common():
        low, high = cosine_bounds(at, at)
        cells.append(
            {
                "bin": at,
                "x": column - 0.5,
                "x2": column + axis.width - 0.5,
                "y": low,
                "y2": high,
                "number": number,
                "distance": axis.description(column),
                "cosine": f"{low:.2f} to {high:.2f}",
            }
        )
    return cells


FARTHEST = 2**31 - 1
"""The end of the last column, which includes all larger distances."""


def marked(axis: Axis, distances: Sequence[float], cosines: Sequence[float]) -> Region:
    """All columns and bins that a selected region touches.

    Args:
        distances, cosines: the ends of the region on the two axes, in any order.
    """
    left, right = (_column(axis, value) for value in sorted(distances))
    first, last = (
        min(max(math.floor((value + 1) * COSINE_BINS / 2), 0), COSINE_BINS - 1)
        for value in sorted(cosines)
    )
    return Region((left, _last_of(axis, right)), (first, last))


def clicked(axis: Axis, left: float, cosine_bin: int) -> Region:
    """The region of one cell, given its left edge and its bin."""
    column = _column(axis, left)
    return Region((column, _last_of(axis, column)), (cosine_bin, cosine_bin))


def _column(axis: Axis, place: float) -> int:
    """The column at a position on the axis, where each integer is the centre of its column."""
    return axis.bin_of(max(0, math.floor(place + 0.5)))


def _last_of(axis: Axis, column: int) -> int:
    return FARTHEST if column + axis.width >= axis.end else column + axis.width - 1


def description(axis: Axis, region: Region) -> str:
    """A region as text."""
    (first, last), (lowest, highest) = region
    far = f"{first} or more" if last == FARTHEST else f"{first} to {last}"
    distance = str(first) if first == last else far
    low, high = cosine_bounds(lowest, highest)
    return f"Levenshtein distance {distance}, cosine {low:.2f} to {high:.2f}"
