"""Charts as pure functions of tidy rows.

Texts reach Vega as data, never as expressions; it draws them as plain text.
"""

import math
import textwrap
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from pages.components.shared.charts.palette import palette
from training.evaluation.similarity import AFTER, BEFORE, DistributionRow, ProbeRow

LABEL_WIDTH = 28
LABEL_LINES = 6
"""Most characters per line, and most lines, of a sentence next to its bars; a tooltip shows all."""

BAR, GAP = 19, 16
"""Pixels per bar, and between two sentences or types."""

AROUND, LEGEND_ROW = 100, 30
"""Pixels for axis and margins, and per row of the legend, within the height."""

LEGEND_WIDTH = 28
"""Characters of two names that fit next to each other in a legend."""

PUBLISHED = {"paper: all-mpnet-base-v2": BEFORE, "paper: HedgeMPNet": AFTER}
"""The series of the paper's trained encoder."""

ROOM_FOR_VALUE = 1.12
"""The end of the axis, which leaves space for the number at the end of a long bar."""

WHOLE_BAND = {"band": 1}
"""Fixed height of the bars: Vega-Lite misaligns grouped bars of other heights."""

TICKS = [-1.0, -0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0]

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)

LINE = 15
"""Pixels per line of a label."""


def figure_1(rows: Sequence[ProbeRow], *, dark: bool, first: str = BEFORE) -> alt.LayerChart:
    """Figure 1: one group of bars per sentence. The paper's bars are hollow.

    Args:
        first: the series that has the colour of 'before'.
    """
    return _bars(rows, [(row.text,) for row in rows], dark=dark, first=first)


def own_probes(rows: Sequence[ProbeRow], *, dark: bool, first: str = BEFORE) -> alt.LayerChart:
    """As Figure 1, for pairs that each have their own first sentence."""
    sentences = [(row.anchor, f"→ {row.text}") for row in rows]
    return _bars(rows, sentences, dark=dark, first=first)


def _bars(
    rows: Sequence[ProbeRow], sentences: Sequence[tuple[str, ...]], *, dark: bool, first: str
) -> alt.LayerChart:
    """Bars for each row, grouped by pair, next to the pair's sentences."""
    colours = palette(dark=dark)
    labels = _labels(sentences)
    table = [
        {
            "pair": labels[pair],
            "first": row.anchor,
            "second": row.text,
            "series": _series(row),
            "cosine": row.cosine,
        }
        for row, pair in zip(rows, sentences, strict=True)
    ]
    series = {_series(row): row for row in rows}
    names = list(series)
    stroke = [
        colours.before if name in (first, f"{first} (paper)") else colours.after for name in names
    ]
    fill = [
        "transparent" if row.published else colour
        for row, colour in zip(series.values(), stroke, strict=True)
    ]
    base = alt.Chart(alt.Data(values=table)).encode(
        y=groups("pair", list(labels.values())),
        yOffset=side_by_side(names),
        x=alt.X(
            "cosine:Q",
            title="cosine similarity",
            scale=alt.Scale(domain=[min(0.0, *(row.cosine for row in rows)), ROOM_FOR_VALUE]),
            axis=alt.Axis(values=TICKS),
        ),
        tooltip=[
            alt.Tooltip("first:N", title="First sentence"),
            alt.Tooltip("second:N", title="Second sentence"),
            alt.Tooltip("series:N", title="Model"),
            alt.Tooltip("cosine:Q", title="Cosine", format=".3f"),
        ],
    )
    columns = columns_for(names)
    above = legend(colours.ink, columns)
    bars = base.mark_bar(strokeWidth=1.5, height=WHOLE_BAND).encode(
        fill=alt.Fill("series:N", scale=alt.Scale(domain=names, range=fill), legend=above),
        stroke=alt.Stroke("series:N", scale=alt.Scale(domain=names, range=stroke), legend=above),
    )
    values = base.mark_text(align="left", baseline="middle", dx=5, color=colours.ink).encode(
        text=alt.Text("cosine:Q", format=".2f")
    )
    chart = alt.layer(bars, values)
    return sized(chart, labels=labels.values(), bars=len(series), columns=columns)


def _series(row: ProbeRow) -> str:
    """The label of a bar in the legend."""
    return f"{PUBLISHED[row.series]} (paper)" if row.published else row.series


def _labels(pairs: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """A label of some short lines for each distinct pair, all different."""
    labels: dict[tuple[str, ...], str] = {}
    for sentences in dict.fromkeys(pairs):
        label = "\n".join(line for sentence in sentences for line in _wrapped(sentence))
        same = sum(other.partition("\n(")[0] == label for other in labels.values())
        labels[sentences] = f"{label}\n({same + 1})" if same else label  # long and begin alike
    return labels


def _wrapped(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, LABEL_WIDTH, max_lines=LABEL_LINES, placeholder=" …")


def groups(field: str, order: list[str]) -> alt.Y:
    """Groups of bars below each other, each next to its label of one or more lines.

    Vega puts the first line of a label next to the middle of its group. So all labels are moved up
    by half of the longest, and shorter ones get empty lines above.
    """
    most = max((label.count("\n") + 1 for label in order), default=1)
    empty = f"floor(({most} - length(split(datum.label, '\\n'))) / 2)"
    return alt.Y(
        f"{field}:N",
        sort=order,
        title=None,
        scale=alt.Scale(paddingInner=0.2, paddingOuter=0.1),
        axis=alt.Axis(
            labelExpr=f"split(pad('', {empty}, '\\n') + datum.label, '\\n')",
            labelOffset=-(most - 1) * LINE / 2,
            labelLimit=215,
            labelLineHeight=LINE,
            labelOverlap=False,
            ticks=False,
            domain=False,
        ),
    )


def side_by_side(series: list[str]) -> alt.YOffset:
    """The bars of a group, in this order."""
    return alt.YOffset("series:N", sort=series, scale=alt.Scale(paddingInner=0.2))


def columns_for(series: Collection[str]) -> int:
    """The number of columns of a legend with these names, so that it fits a narrow window."""
    return 2 if sum(sorted(map(len, series))[-2:]) <= LEGEND_WIDTH else 1


def legend(ink: str, columns: int = 2) -> alt.Legend:
    """The legend above the bars."""
    return alt.Legend(
        labelColor=ink,
        title=None,
        orient="top",
        columns=columns,
        columnPadding=8,
        labelFontSize=13,
        symbolType="square",
    )


def sized(chart: Any, *, labels: Iterable[str], bars: int, columns: int = 2) -> alt.LayerChart:
    """The chart, high enough for its bars, the lines of its labels and its legend's columns."""
    labelled = list(labels)
    lines = max((label.count("\n") + 1 for label in labelled), default=1)
    group = max(bars * BAR, lines * LINE) + GAP
    around = AROUND + LEGEND_ROW * math.ceil(bars / columns)
    whole: alt.LayerChart = chart.properties(height=len(labelled) * group + around)
    return whole


def distribution(
    rows: Sequence[DistributionRow], *, labels: Mapping[str, str], dark: bool
) -> alt.LayerChart:
    """Cosines by type, before and after: median, middle half and middle four fifths.

    Args:
        rows: the rows of one part of the data.
        labels: the types to show, in this order → their names.
    """
    colours = palette(dark=dark)
    found = summary(rows, labels=labels)
    names = {row.type: f"{labels[row.type]}\n{row.n:,} variants" for row in found}
    table = [{**row._asdict(), "label": names[row.type]} for row in found]
    low = axis_start(row.least for row in found)
    series = alt.Scale(domain=[BEFORE, AFTER], range=[colours.before, colours.after])
    base = alt.Chart(alt.Data(values=table)).encode(
        y=groups("label", list(names.values())),
        yOffset=side_by_side([BEFORE, AFTER]),
        color=alt.Color(
            "series:N",
            scale=series,
            legend=legend(colours.ink),
        ),
        tooltip=[
            alt.Tooltip("label:N", title="Type"),
            alt.Tooltip("series:N", title="Training"),
            alt.Tooltip("median:Q", title="Median", format=".3f"),
            alt.Tooltip("lower:Q", title="25th percentile", format=".3f"),
            alt.Tooltip("upper:Q", title="75th percentile", format=".3f"),
            alt.Tooltip("least:Q", title="10th percentile", format=".3f"),
            alt.Tooltip("most:Q", title="90th percentile", format=".3f"),
        ],
    )
    axis = alt.X(
        "least:Q",
        title="cosine similarity",
        scale=alt.Scale(domain=[low, 1.0]),
        axis=alt.Axis(tickMinStep=0.05),
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(x=axis, x2="most:Q")
    boxes = base.mark_bar(height=WHOLE_BAND).encode(x=alt.X("lower:Q"), x2="upper:Q")
    medians = base.mark_tick(thickness=3, color=colours.ink, height=WHOLE_BAND).encode(
        x="median:Q", color=alt.value(colours.ink)
    )
    return sized(alt.layer(whiskers, boxes, medians), labels=names.values(), bars=2)


def axis_start(cosines: Iterable[float]) -> float:
    """The start of a scale that ends at 1: the highest multiple of 0.1 below the cosines.

    It is at most 0.9. Cosines of sentences on one topic are close together. On a scale that starts
    at 0, they would look alike.
    """
    return min(0.9, math.floor(min(cosines) * 10) / 10)


class CosineSummary(NamedTuple):
    """How the cosines of one type are distributed, before or after: count and quantiles."""

    type: str
    series: str
    n: int
    least: float
    """A tenth lies below."""
    lower: float
    median: float
    upper: float
    most: float
    """A tenth lies above."""


def summary(rows: Sequence[DistributionRow], *, labels: Iterable[str]) -> list[CosineSummary]:
    """One row for each type and series that has cosines, the types in the order of `labels`."""
    cosines: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        cosines[row.type, row.series].append(row.cosine)
    return [
        CosineSummary(
            kind, series, len(values), *(float(q) for q in np.quantile(values, QUANTILES))
        )
        for kind in labels
        for series in (BEFORE, AFTER)
        if (values := cosines[kind, series])
    ]
