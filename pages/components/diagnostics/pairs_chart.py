"""Distance against similarity, counted: a symbol for the variants of one type at one place.

A symbol for every variant would hide thousands under others, since distances are whole numbers.
Types reach Vega as data only.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from curation.diagnostics.distributions import COSINE_BINS, PairCount, cosine_bounds
from pages.components.diagnostics.histogram_charts import TENTHS, Axis, character_axis
from pages.components.shared.charts.palette import palette

BRUSH, PLACE = "brush", "place"
"""The names of the two selections: a region that is dragged over, a symbol that is clicked on."""

COLUMNS = 2
"""Entries of the legend side by side; as many as fit a narrow page."""

LEGEND_ROW, PLOT, AROUND = 20, 400, 130
"""Pixels: a row of the legend, the plot itself, and what axis and sizes take."""

SMALLEST, LARGEST = 24, 72
"""Square pixels of the symbol of one variant, and of the most."""

SPREAD = 0.8
"""The part of its column over which the types that one place has are spread."""


class Region(NamedTuple):
    """Distances and bins of the cosine, from the first to the last, all included."""

    distances: tuple[int, int]
    bins: tuple[int, int]


def distance_axis(rows: Iterable[PairCount]) -> Axis:
    """The columns of the chart, for all rows of a project, so that a filter moves nothing."""
    counts: Counter[int] = Counter()
    for row in rows:
        counts[row.levenshtein] += row.number
    return character_axis({"": counts})


def draw(
    rows: Sequence[PairCount],
    *,
    axis: Axis,
    labels: Mapping[str, str],
    own: Sequence[str] = (),
    dark: bool,
) -> alt.Chart:
    """The symbols, to be dragged over (selection ``BRUSH``) and clicked on (``PLACE``).

    Args:
        rows: of the types in ``labels``; others are left out.
        axis: as ``distance_axis`` gives it.
        labels: the types in the order of the legend, and what they are called.
        own: ids of all types that were added, in the order that fixes their symbols.
    """
    colours = palette(dark=dark)
    shown = {row.type_id for row in rows}
    types = [type_id for type_id in labels if type_id in shown]
    values = _symbols(rows, axis, types, labels)
    names = [labels[type_id] for type_id in types]
    marks = colours.marks_of(types, own)
    legend = alt.Legend(
        orient="top",
        title=None,
        columns=COLUMNS,
        symbolOpacity=1,
        symbolSize=110,
        symbolStrokeWidth=0,
        labelLimit=290,
    )
    lowest = min((value["low"] for value in values), default=0.0)
    most = max((value["number"] for value in values), default=1)
    place = alt.selection_point(name=PLACE, fields=["type_id", "column", "bin"])
    return (
        alt.Chart(pd.DataFrame(values))
        .mark_point(filled=True, opacity=0.6, strokeOpacity=1, stroke=colours.ink)
        .encode(
            x=alt.X(
                "x:Q",
                title="Levenshtein distance (characters)",
                scale=alt.Scale(domain=[-0.5, axis.end - 0.5], nice=False),
                axis=alt.Axis(tickCount=10, tickMinStep=1),
            ),
            y=alt.Y(
                "y:Q",
                title="cosine similarity",
                scale=alt.Scale(domain=[math.floor(lowest * 10) / 10, 1.0], nice=False),
                axis=alt.Axis(format=".1f", values=TENTHS),
            ),
            color=alt.Color(
                "type:N",
                legend=legend,
                scale=alt.Scale(domain=names, range=[mark.colour for mark in marks]),
            ),
            shape=alt.Shape(
                "type:N",
                legend=legend,
                scale=alt.Scale(domain=names, range=[mark.shape for mark in marks]),
            ),
            size=alt.Size(
                "number:Q",
                scale=alt.Scale(type="sqrt", domain=[1, max(most, 2)], range=[SMALLEST, LARGEST]),
                legend=alt.Legend(
                    orient="bottom",
                    title="Variants",
                    titleOrient="left",
                    values=_steps(most),
                    symbolFillColor=colours.quiet,
                    symbolStrokeWidth=0,
                    format=",d",
                ),
            ),
            strokeWidth=alt.when(place, empty=False).then(alt.value(2)).otherwise(alt.value(0)),
            tooltip=[
                alt.Tooltip("type:N", title="Type"),
                alt.Tooltip("distance:N", title="Distance"),
                alt.Tooltip("cosine:N", title="Cosine"),
                alt.Tooltip("number:Q", title="Variants", format=","),
            ],
        )
        .add_params(alt.selection_interval(name=BRUSH, encodings=["x", "y"]), place)
        .properties(height=PLOT + AROUND + LEGEND_ROW * math.ceil(len(types) / COLUMNS))
    )


def _symbols(
    rows: Iterable[PairCount], axis: Axis, types: Sequence[str], labels: Mapping[str, str]
) -> list[dict[str, Any]]:
    """One for each type, column and bin that has variants; the large ones first, so behind."""
    counts: Counter[tuple[str, int, int]] = Counter()
    for row in rows:
        if row.type_id in labels:
            counts[row.type_id, axis.bin_of(row.levenshtein), row.cosine_bin] += row.number
    # Only those at the same place share its room.
    there: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for type_id, column, at in sorted(counts, key=lambda key: types.index(key[0])):
        there[column, at].append(type_id)
    values = []
    for (type_id, column, at), number in counts.most_common():
        low, high = cosine_bounds(at, at)
        neighbours = there[column, at]
        place = (neighbours.index(type_id) + 0.5) / len(neighbours) - 0.5
        middle = column + (axis.width - 1) / 2
        values.append(
            {
                "type_id": type_id,
                "type": labels[type_id],
                "column": column,
                "bin": at,
                "x": middle + SPREAD * axis.width * place,
                "y": (low + high) / 2,
                "low": low,
                "number": number,
                "distance": axis.told(column),
                "cosine": f"{low:.2f} to {high:.2f}",
            }
        )
    return values


def _steps(most: int) -> list[int]:
    """The sizes that the legend explains."""
    return sorted({1, max(1, round(most / 4)), most})


FARTHEST = 2**31 - 1
"""What the last column ends with: it holds all that is farther, too."""


def marked(axis: Axis, distances: Sequence[float], cosines: Sequence[float]) -> Region:
    """The columns and bins that a marked region touches, as whole ones.

    Args:
        distances, cosines: the ends of the region on the two axes, in any order.
    """
    left, right = (_column(axis, value) for value in sorted(distances))
    first, last = (
        min(max(math.floor((value + 1) * COSINE_BINS / 2), 0), COSINE_BINS - 1)
        for value in sorted(cosines)
    )
    return Region((left, _last_of(axis, right)), (first, last))


def clicked(axis: Axis, column: int, cosine_bin: int) -> Region:
    """The region of one symbol."""
    return Region((column, _last_of(axis, column)), (cosine_bin, cosine_bin))


def _column(axis: Axis, place: float) -> int:
    """The column at a place of the axis, which has each whole number in the middle of its own."""
    return axis.bin_of(max(0, math.floor(place + 0.5)))


def _last_of(axis: Axis, column: int) -> int:
    return FARTHEST if column + axis.width >= axis.end else column + axis.width - 1


def told(axis: Axis, region: Region) -> str:
    """A region in words."""
    (first, last), (lowest, highest) = region
    far = f"{first} or more" if last == FARTHEST else f"{first} to {last}"
    distance = str(first) if first == last else far
    low, high = cosine_bounds(lowest, highest)
    return f"Levenshtein distance {distance}, cosine {low:.2f} to {high:.2f}"
