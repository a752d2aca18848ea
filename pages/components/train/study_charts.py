"""The charts of a study: differences by training (Figure 3), growth by triples (Figure 2).

Names of runs reach Vega as data, never as expressions.
"""

import textwrap
from collections.abc import Sequence
from itertools import cycle
from typing import Any

import altair as alt

from pages.components.shared.charts.grammar import (
    LEGEND_ROW,
    WHOLE_BAND,
    colours_of,
    grouped,
    groups,
    layered,
    legend,
    side_by_side,
    tips,
)
from pages.components.shared.charts.palette import Palette, palette
from training.studies.outcomes import NAMES, DifferenceRow, FigureRow, TradeOffRow

ROOM = 0.22
"""Space for its number next to the longest bar, as a share of that bar."""

LEAST_REACH = 0.5
"""Smallest range of the axis, for tiny differences."""

LONGEST = 260
"""Width in pixels of a run's name in the legend."""

LEGEND_LINE = LEGEND_ROW - 7
"""Pixels for each row of a legend of one column."""

LABEL_WIDTH = 22
"""Characters per line of a metric's name next to its bars."""

HEIGHT = 320
"""Pixels of the charts by number of triples."""

SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
"""Shapes that repeat the colours of the metrics."""


def differences(
    rows: Sequence[DifferenceRow], *, arms: Sequence[str], relative: bool, against: str, dark: bool
) -> alt.LayerChart:
    """Bars of each figure's difference, in a group for each figure; the paper's are hollow.

    Args:
        rows: at least one.
        arms: all trainings of the study, the one on all data first.
        relative: whether the differences are percentages or points.
        against: the baseline of the differences.
    """
    colours = palette(dark=dark)
    paints = dict(zip(arms, _paints(len(arms), colours), strict=True))
    there = [arm for arm in arms if any(row.arm == arm for row in rows)]
    labels = list(dict.fromkeys(_label(row) for row in rows))
    paint = alt.Scale(domain=there, range=[paints[arm] for arm in there])
    unit = "%" if relative else "points"
    table = [
        {
            **row._asdict(),
            "label": _label(row),
            "series": row.arm,
            "metric": NAMES.get(row.figure, row.figure),
            "kind": "published" if row.published else "measured here",
            "hollow": row.published,
            "items": _items(row),
        }
        for row in rows
    ]
    base = alt.Chart(alt.Data(values=table)).encode(
        y=groups("label", labels),
        yOffset=side_by_side(there),
        x=alt.X(
            "difference:Q",
            title=[f"difference from the {against}", f"({unit})"],
            scale=alt.Scale(domain=_reach([row.difference for row in rows]), nice=False),
        ),
        tooltip=tips(
            ("series:N", "Run"),
            ("metric:N", "Metric"),
            ("kind:N", "Source"),
            ("reference:Q", against.capitalize(), ".3f"),
            ("value:Q", "After training", ".3f"),
            ("difference:Q", f"Difference ({unit})", "+.1f"),
            ("items:N", "n"),
        ),
    )
    above = _legend(colours.ink)
    outlined = base.encode(stroke=alt.Stroke("series:N", scale=paint, legend=above))
    style: dict[str, Any] = {"strokeWidth": 1.5, "height": WHOLE_BAND}
    measured = outlined.transform_filter("!datum.hollow").mark_bar(**style)
    texts = base.encode(text=alt.Text("difference:Q", format="+.1f"))
    ends: dict[str, Any] = {"baseline": "middle", "color": colours.ink}
    chart = grouped(
        measured.encode(fill=alt.Fill("series:N", scale=paint, legend=above)),
        outlined.transform_filter("datum.hollow").mark_bar(fill="transparent", **style),
        alt.Chart(alt.Data(values=[{"at": 0}])).mark_rule(color=colours.ink).encode(x="at:Q"),
        texts.transform_filter("datum.difference >= 0").mark_text(align="left", dx=5, **ends),
        texts.transform_filter("datum.difference < 0").mark_text(align="right", dx=-5, **ends),
        labels=labels,
        bars=len(there),
    )
    whole: alt.LayerChart = chart.properties(
        height=chart.height + (LEGEND_LINE - LEGEND_ROW // 2) * len(there)
    )
    return whole


def _items(row: DifferenceRow | FigureRow) -> str:
    """The number of items for a tooltip; papers do not report it."""
    return "not reported" if row.n is None else f"{row.n:,}"


def _label(row: DifferenceRow) -> str:
    name = "\n".join(textwrap.wrap(NAMES.get(row.figure, row.figure), LABEL_WIDTH))
    return f"{name}\n(published)" if row.published else name


def _paints(count: int, colours: Palette) -> list[str]:
    """The given number of colours: many are a neutral one followed by the colours of the types."""
    few = [colours.after, colours.before, colours.quiet, colours.ink]
    others = cycle(colours.types.values())
    many = [colours.ink, *(next(others) for _ in range(count - 1))]
    return few[:count] if count <= len(few) else many


def _reach(values: Sequence[float]) -> list[float]:
    """The range of the axis: 0 or beyond the longest bars, with space for numbers."""
    low, high = min([0.0, *values]), max([0.0, *values])
    room = ROOM * max(high - low, LEAST_REACH)
    return [low - room if low < 0 else 0.0, high + room if high > 0 or low == high else 0.0]


def growth(rows: Sequence[FigureRow], *, dark: bool) -> alt.LayerChart:
    """Every metric by the number of triples, as a line with points; the base encoder is dashed.

    Args:
        rows: of a study of the number of triples; at least one.
    """
    colours = palette(dark=dark)
    names = [name for figure, name in NAMES.items() if any(row.figure == figure for row in rows)]
    above = _legend(colours.ink)
    table = [{**row._asdict(), "series": NAMES[row.figure], "items": _items(row)} for row in rows]
    numbers = sorted({row.triples or 0 for row in rows})
    y = alt.Y("value:Q", title="score on the validation split", scale=alt.Scale(zero=False))
    base = alt.Chart(alt.Data(values=table)).encode(
        x=alt.X(
            "triples:Q",
            title="triples (log scale)",
            scale=alt.Scale(type="log", nice=False, padding=20),
            axis=alt.Axis(values=numbers, format=",d", labelOverlap=True),
        ),
        color=colours_of("series:N", names, _paints(len(names), colours), above),
        tooltip=tips(
            ("series:N", "Metric"),
            ("triples:Q", "Triples", ",d"),
            ("value:Q", "After training", ".3f"),
            ("before:Q", "Base encoder", ".3f"),
            ("items:N", "n"),
        ),
    )
    shapes = alt.Scale(domain=names, range=list(SHAPES))
    return layered(
        base.mark_line(strokeDash=[4, 4], opacity=0.7).encode(y=alt.Y("before:Q")),
        base.mark_line().encode(y=y),
        base.mark_point(filled=True, size=80).encode(
            y=y, shape=alt.Shape("series:N", scale=shapes, legend=above)
        ),
        height=HEIGHT + LEGEND_LINE * len(names),
    )


def trade_off(
    rows: Sequence[TradeOffRow], *, negation: str, general: str, dark: bool
) -> alt.LayerChart:
    """Negation against general ability; each point shows its number of triples, 0 is hollow.

    Args:
        rows: the base encoder first, then by number of triples.
        negation, general: names of the two metrics.
    """
    colours = palette(dark=dark)
    table = [
        {**row._asdict(), "order": place, "label": f"{row.triples:,}" if row.triples else "base"}
        for place, row in enumerate(rows)
    ]
    base = alt.Chart(alt.Data(values=table)).encode(
        x=alt.X("general:Q", title=general, scale=alt.Scale(zero=False, padding=30)),
        y=alt.Y("negation:Q", title=negation, scale=alt.Scale(zero=False, padding=20)),
        order="order:Q",
        tooltip=tips(
            ("label:N", "Triples"),
            ("negation:Q", negation, ".3f"),
            ("general:Q", general, ".3f"),
        ),
    )
    return layered(
        base.mark_line(color=colours.quiet),
        base.transform_filter("datum.triples > 0").mark_point(
            filled=True, size=90, color=colours.after, opacity=1
        ),
        base.transform_filter("datum.triples == 0").mark_point(
            filled=False, size=90, strokeWidth=2, color=colours.before
        ),
        base.mark_text(align="left", dx=9, dy=-7, color=colours.ink).encode(text="label:N"),
        height=HEIGHT,
    )


def _legend(ink: str) -> alt.Legend:
    """Legend entries in one column, which fits a narrow window."""
    return legend(ink, 1, labelLimit=LONGEST)
