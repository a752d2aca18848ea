"""Histograms of a measure, one row per type, as pure functions of counts.

This is one plain chart, because a faceted chart would not follow the width of the page. Each row is
scaled to its own highest bar, so that the shape and position of the bars can be compared.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from curation.diagnostics.distributions import COSINE_BINS
from pages.components.shared.charts.grammar import colours_of, plain_axis, tips
from pages.components.shared.charts.palette import palette

ROW_HEIGHT, AROUND = 58, 110
"""Pixels per row, and pixels for axis and legend together."""

LOWEST = 150
"""Height in pixels of a single row."""

TENTHS = [step / 10 for step in range(-10, 11)]

FILL = 0.82
"""Share of a row's height that its highest bar fills."""

KEPT, CUT = "within the threshold", "above the threshold"

_BIN_WIDTHS = (1, 2, 5, 10, 20, 50, 100)
_MOST_BINS = 60
_TAIL = 0.001


class HistogramBar(NamedTuple):
    """One bar: its row, its position on the axis and in the row, and its count."""

    row: int
    start: float
    end: float
    low: float
    high: float
    part: str
    number: int
    share: float
    range: str


class Axis(NamedTuple):
    """The binning of characters: bins of ``width`` up to ``end``; the last bin is open-ended."""

    width: int
    end: int

    def bin_of(self, value: int) -> int:
        """Start of the bin that contains a value."""
        return min(value, self.end - 1) // self.width * self.width

    def description(self, start: int) -> str:
        """The values of the bin that starts there, as text."""
        last = start + self.width - 1
        if start + self.width >= self.end:
            return f"{start} or more characters"
        return f"{start} characters" if last == start else f"{start} to {last} characters"


def character_axis(counts: Mapping[str, Mapping[int, int]]) -> Axis:
    """An axis that shows all but the largest 0.1 percent of values.

    It depends only on the data: bars that moved with the threshold could not be compared.
    """
    values: Counter[int] = Counter()
    for row in counts.values():
        values.update(row)
    left = values.total() * _TAIL
    last = max(values, default=0)
    for value in sorted(values, reverse=True):
        last = value
        left -= values[value]
        if left < 0:
            break
    width = next((w for w in _BIN_WIDTHS if (last + 1) / w <= _MOST_BINS), _BIN_WIDTHS[-1])
    return Axis(width, ((last + 1) // width + 1) * width)


def levenshtein(
    counts: Mapping[str, Mapping[int, int]],
    *,
    labels: Mapping[str, str],
    threshold: int,
    dark: bool,
) -> alt.LayerChart:
    """Levenshtein distances by type, split at a threshold.

    Args:
        counts: type → distance in characters → variants.
        labels: type ids in row order → their names.
        threshold: larger distances have the second colour.
    """
    colours = palette(dark=dark)
    axis = character_axis(counts)
    rows = [type_id for type_id in labels if type_id in counts]
    bars = [
        bar
        for row, type_id in enumerate(rows)
        for bar in _distance_bars(row, counts[type_id], axis, threshold)
    ]
    rule = (
        alt.Chart(pd.DataFrame([{"threshold": threshold + 1}]))
        .mark_rule(color=colours.ink, strokeDash=[4, 3], strokeWidth=1.5)
        .encode(x=alt.X("threshold:Q"))
    )
    above = alt.Legend(title=None, orient="top", symbolType="square")
    return _chart(
        bars,
        [_label(labels[type_id], counts[type_id]) for type_id in rows],
        x=alt.X(
            "start:Q",
            title="Levenshtein distance (characters)",
            scale=alt.Scale(domain=[0, axis.end], nice=False),
            axis=alt.Axis(tickCount=10),
        ),
        colour=colours_of("part:N", [KEPT, CUT], [colours.after, colours.before], above),
        ink=colours.ink,
        more=[rule] * (threshold + 1 < axis.end),
    )


def cosine(
    counts: Mapping[str, Mapping[int, int]], *, labels: Mapping[str, str], dark: bool
) -> alt.LayerChart:
    """Cosine similarities by type.

    Args:
        counts: type → bin (see ``curation.diagnostics.distributions.cosine_counts``) → variants.
        labels: as for ``levenshtein``.
    """
    colours = palette(dark=dark)
    rows = [type_id for type_id in labels if type_id in counts]
    bars = [bar for row, type_id in enumerate(rows) for bar in _cosine_bars(row, counts[type_id])]
    low = min((bar.start for bar in bars), default=0.0)
    return _chart(
        bars,
        [_label(labels[type_id], counts[type_id]) for type_id in rows],
        x=alt.X(
            "start:Q",
            title="cosine similarity",
            scale=alt.Scale(domain=[math.floor(low * 10) / 10, 1.0], nice=False),
            axis=alt.Axis(format=".1f", values=TENTHS),
        ),
        colour=alt.value(colours.after),
        ink=colours.ink,
    )


def _label(label: str, counts: Mapping[int, int]) -> str:
    return f"{label}\n{sum(counts.values()):,}"


def _distance_bars(
    row: int, counts: Mapping[int, int], axis: Axis, threshold: int
) -> Iterator[HistogramBar]:
    """The bars of one type; the bin that contains the threshold has two stacked bars."""
    parts: dict[str, Counter[int]] = {KEPT: Counter(), CUT: Counter()}
    for value, number in counts.items():
        parts[CUT if value > threshold else KEPT][axis.bin_of(value)] += number
    bins = parts[KEPT] + parts[CUT]
    most, total = max(bins.values(), default=1), bins.total()
    for start in sorted(bins):
        below = 0
        for name, part in parts.items():
            if number := part[start]:
                yield HistogramBar(
                    row,
                    start,
                    start + axis.width,
                    _place(row, below / most),
                    _place(row, (below + number) / most),
                    name,
                    number,
                    number / total,
                    axis.description(start),
                )
                below += number


def _cosine_bars(row: int, counts: Mapping[int, int]) -> Iterator[HistogramBar]:
    most, total = max(counts.values(), default=1), sum(counts.values())
    for position, number in sorted(counts.items()):
        start, end = (round(edge * 2 / COSINE_BINS - 1, 4) for edge in (position, position + 1))
        yield HistogramBar(
            row,
            start,
            end,
            _place(row, 0),
            _place(row, number / most),
            "",
            number,
            number / total,
            f"{start:.2f} to {end:.2f}",
        )


def _place(row: int, height: float) -> float:
    """Position of a height from 0 to 1 on the vertical axis, which counts rows from the top."""
    return row + 1 - FILL * height


def _chart(
    bars: Sequence[HistogramBar],
    labels: Sequence[str],
    *,
    x: alt.X,
    colour: Any,
    ink: str,
    more: Sequence[alt.Chart] = (),
) -> alt.LayerChart:
    """The bars with row names: two aligned vertical scales, one for names and one for heights."""
    names = (
        alt.Chart(pd.DataFrame([{"label": label} for label in labels]))
        .mark_bar(opacity=0)  # not a point scale, which has no bands
        .encode(
            y=alt.Y(
                "label:N",
                sort=None,
                title=None,
                scale=alt.Scale(padding=0),
                axis=plain_axis(
                    labelExpr="split(datum.label, '\\n')",
                    labelLimit=160,
                    labelLineHeight=15,
                    labelColor=ink,
                    labelBaseline="middle",
                    labelPadding=8,
                    grid=False,
                ),
            )
        )
    )
    height = alt.Scale(domain=[0, max(1, len(labels))], reverse=True, nice=False)
    bar_marks = (
        alt.Chart(pd.DataFrame(bars, columns=HistogramBar._fields))
        .mark_bar(strokeWidth=0, binSpacing=0)
        .encode(
            x=x,
            x2="end:Q",
            y=alt.Y("low:Q", scale=height, axis=None),
            y2="high:Q",
            color=colour,
            tooltip=tips(
                ("range:N", "Range"),
                ("number:Q", "Variants", ","),
                ("share:Q", "Share of the type", ".1%"),
            ),
        )
    )
    base = (
        alt.Chart(pd.DataFrame([{"at": row + 1} for row in range(len(labels))]))
        .mark_rule(color=ink, opacity=0.5)
        .encode(y=alt.Y("at:Q", scale=height, axis=None))
    )
    return (
        alt.layer(names, alt.layer(bar_marks, base, *more))
        .resolve_scale(y="independent")
        .properties(height=max(LOWEST, ROW_HEIGHT * len(labels)) + AROUND)
    )
