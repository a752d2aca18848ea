"""Pairs: distance against similarity by type, and the variants of a selected region."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import altair as alt
import pandas as pd
import streamlit as st

from curation.diagnostics import distributions
from curation.diagnostics.variant_table import VariantFilter
from curation.formatting import counted
from pages.components.diagnostics.histogram_charts import TENTHS, Axis, character_axis
from pages.components.diagnostics.scope_of_page import (
    PageView,
    counting,
    found_table,
    measure_button,
)
from pages.components.shared.charts import grammar, plot
from pages.components.shared.charts.palette import palette
from pages.components.shared.shell import open_project

# -- Distance against similarity: a small heat map of counts for each type ------------------------


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


def axes_of(rows: Iterable[distributions.PairCount]) -> Axes:
    """The axes for these rows; pass all rows of a project so that a filter does not move them."""
    counts: Counter[int] = Counter()
    lowest = 1.0
    for row in rows:
        counts[row.levenshtein] += row.number
        lowest = min(lowest, distributions.cosine_bounds(row.cosine_bin, row.cosine_bin)[0])
    return Axes(character_axis({"": counts}), math.floor(lowest * 10) / 10)


class TypePairs(NamedTuple):
    """The pairs of one type: its label, role, rows and axes."""

    label: str
    role: str
    rows: Sequence[distributions.PairCount]
    axes: Axes


def pairs_chart(pairs: TypePairs, *, dark: bool) -> alt.Chart:
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
            tooltip=grammar.tips(
                ("distance:N", "Distance"), ("cosine:N", "Cosine"), ("number:Q", "Variants", ",")
            ),
        )
    )


def _counted(rows: Iterable[distributions.PairCount], axis: Axis) -> list[dict[str, Any]]:
    """One cell per column and bin with variants, the fullest first."""
    counts: Counter[tuple[int, int]] = Counter()
    for row in rows:
        counts[axis.bin_of(row.levenshtein), row.cosine_bin] += row.number
    cells = []
    for (column, at), number in counts.most_common():
        low, high = distributions.cosine_bounds(at, at)
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
        min(
            max(math.floor((value + 1) * distributions.COSINE_BINS / 2), 0),
            distributions.COSINE_BINS - 1,
        )
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
    low, high = distributions.cosine_bounds(lowest, highest)
    return f"Levenshtein distance {distance}, cosine {low:.2f} to {high:.2f}"


_MARKED, _ROUNDS = "pairs-marked", "pairs-rounds"


def draw(view: PageView) -> None:
    """Show the section."""
    rows = view.counts.get(distributions.pair_counts, view.scope.source_id)
    in_use = view.in_use()
    if rows is None or in_use is None:
        counting()
        return
    measured = sum(row.number for row in rows)
    if measured < in_use:
        measure_button(in_use - measured, what="cosine")
    types = _types(view, rows)
    if not types:
        st.text("None of the selected variants has both a distance and a similarity yet.")
        return
    type_id, region = _marked_in(types, _charts(types))
    if region is None:
        st.caption("Drag over a region or click a cell to list its variants here.")
        return
    found_table(
        view,
        VariantFilter(
            replace(view.scope, types=(type_id,)),
            levenshtein=region.distances,
            cosine_bins=region.bins,
        ),
        description=f"{types[type_id].label}, " + description(types[type_id].axes.distance, region),
        key="region",
    )


def _types(view: PageView, rows: Sequence[distributions.PairCount]) -> dict[str, TypePairs]:
    """The chart data of each type; free-form types have larger distances and their own axes."""
    entries = open_project.every_type()
    kept = {key for key, entry in entries.items() if entry.surface_check.keeps_words}
    axes = {
        is_kept: axes_of(row for row in rows if (row.type_id in kept) == is_kept)
        for is_kept in (True, False)
    }
    shown = [row for row in rows if view.scope.holds(row.type_id, row.status)]
    there = {row.type_id for row in shown}
    return {
        type_id: TypePairs(
            label,
            entries[type_id].role,
            [row for row in shown if row.type_id == type_id],
            axes[type_id in kept],
        )
        for type_id, label in view.labels_of(there).items()
        if type_id in there
    }


def _charts(types: Mapping[str, TypePairs]) -> dict[str, Any]:
    """Show the charts; return the selection of each."""
    number = counted(sum(row.number for pairs in types.values() for row in pairs.rows), "variant")
    st.text(
        f"{number}. The top left of each chart shows small changes that the encoder barely "
        "notices. If such a change is a negation, the encoder gets the pair wrong."
    )
    rounds = st.session_state.setdefault(_ROUNDS, Counter())
    selected: dict[str, Any] = {}
    with st.container(horizontal=True, key="pairs-charts"):
        for type_id, pairs in types.items():
            with st.container(gap="small"):
                st.text(f"{pairs.label} · {sum(row.number for row in pairs.rows):,}")
                selected[type_id] = plot.chart(
                    partial(pairs_chart, pairs),
                    key=f"pairs-{type_id}-{rounds[type_id]}",
                    on_select=partial(_mark, type_id),
                    selection_mode=[BRUSH, PLACE],
                    alt=f"{pairs.label}: heat map of Levenshtein distance and cosine similarity; "
                    "drag over a region or click a cell to list its variants",
                )
    plot.save_buttons(partial(printed, list(types.values())), name="pairs")
    st.caption(
        "Each cell counts a type's variants with a similar distance and cosine. The stronger its "
        "colour, the more variants it contains. The distance axis covers a wider range for "
        "free-form types."
    )
    return selected


def _mark(type_id: str) -> None:
    """Remember which chart has the latest selection, and clear the one before."""
    before = st.session_state.get(_MARKED)
    if before is not None and before != type_id:
        st.session_state[_ROUNDS][before] += 1
    st.session_state[_MARKED] = type_id


def _marked_in(
    types: Mapping[str, TypePairs], selected: Mapping[str, Any]
) -> tuple[str, Region | None]:
    """The type with the latest selection, and that selection."""
    type_id = st.session_state.get(_MARKED, "")
    if type_id not in types:
        return type_id, None
    return type_id, _region(selected[type_id], types[type_id].axes.distance)


def _region(selected: Any, axis: Axis) -> Region | None:
    """The selection: a dragged region, or else a clicked cell."""
    selection: Mapping[str, Any] = selected.get("selection", {})
    brush: Mapping[str, list[float]] = selection.get(BRUSH) or {}
    if {"x", "y"} <= brush.keys():
        return marked(axis, brush["x"], brush["y"])
    for place in selection.get(PLACE) or []:
        return clicked(axis, float(place["x"]), int(place["bin"]))
    return None
