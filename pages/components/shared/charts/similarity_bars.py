"""Bars of cosines, as in Figure 1, and their distribution by type, as pure functions of rows."""

import math
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import altair as alt
import numpy as np

from pages.components.shared.charts.grammar import (
    QUANTILES,
    WHOLE_BAND,
    boxes,
    colours_of,
    columns_for,
    grouped,
    groups,
    legend,
    numbers,
    side_by_side,
    tips,
)
from pages.components.shared.charts.palette import palette
from training.evaluation.similarity import AFTER, BEFORE, DistributionRow, ProbeRow

LABEL_WIDTH = 28
LABEL_LINES = 6
"""Most characters per line, and most lines, of a sentence next to its bars; a tooltip shows all."""

PUBLISHED = {"paper: all-mpnet-base-v2": BEFORE, "paper: HedgeMPNet": AFTER}
"""The series of the paper's trained encoder."""

ROOM_FOR_VALUE = 1.12
"""The end of the axis, which leaves space for the number at the end of a long bar."""

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""The quantiles of a summary."""

TICKS = [-1.0, -0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0]


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
        tooltip=tips(
            ("first:N", "First sentence"),
            ("second:N", "Second sentence"),
            ("series:N", "Model"),
            ("cosine:Q", "Cosine", ".3f"),
        ),
    )
    columns = columns_for(names)
    above = legend(colours.ink, columns)
    bars = base.mark_bar(strokeWidth=1.5, height=WHOLE_BAND).encode(
        fill=alt.Fill("series:N", scale=alt.Scale(domain=names, range=fill), legend=above),
        stroke=alt.Stroke("series:N", scale=alt.Scale(domain=names, range=stroke), legend=above),
    )
    return grouped(
        bars,
        numbers(base, colours.ink, "cosine:Q", ".2f"),
        labels=labels.values(),
        bars=len(series),
        columns=columns,
    )


def _series(row: ProbeRow) -> str:
    """The label of a bar in the legend."""
    return f"{PUBLISHED[row.series]} (paper)" if row.published else row.series


def _labels(pairs: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """A label of some short lines for each distinct pair, all different."""
    labels: dict[tuple[str, ...], str] = {}
    for sentences in dict.fromkeys(pairs):
        label = "\n".join(
            line
            for sentence in sentences
            for line in textwrap.wrap(
                sentence, LABEL_WIDTH, max_lines=LABEL_LINES, placeholder=" …"
            )
        )
        same = sum(other.partition("\n(")[0] == label for other in labels.values())
        labels[sentences] = f"{label}\n({same + 1})" if same else label  # long and begin alike
    return labels


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
    series = [BEFORE, AFTER]
    base = alt.Chart(alt.Data(values=table)).encode(
        y=groups("label", list(names.values())),
        yOffset=side_by_side(series),
        color=colours_of("series:N", series, [colours.before, colours.after], legend(colours.ink)),
        tooltip=tips(
            ("label:N", "Type"),
            ("series:N", "Training"),
            *((f"{name}:Q", title, ".3f") for name, title in QUANTILES.items()),
        ),
    )
    axis = alt.X(
        "least:Q",
        title="cosine similarity",
        scale=alt.Scale(domain=[axis_start(row.least for row in found), 1.0]),
        axis=alt.Axis(tickMinStep=0.05),
    )
    return grouped(*boxes(base, colours, axis), labels=names.values(), bars=2)


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
        CosineSummary(kind, series, len(values), *np.quantile(values, SHARES).tolist())
        for kind in labels
        for series in (BEFORE, AFTER)
        if (values := cosines[kind, series])
    ]
