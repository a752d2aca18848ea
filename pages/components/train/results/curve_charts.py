"""The charts of evaluations during training, as pure functions of tidy rows.

Their specifications depend only on the colours and the names of series, so that a page that redraws
them every two seconds only replaces their data.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pages.components.shared.charts.palette import palette
from pages.components.shared.charts.similarity_bars import LEGEND_WIDTH, columns_for
from training.runs.curves import ROLES, SHARES, Band, CurvePoint, PairShare
from training.runs.figures import LossPoint

HEIGHT, LEGEND = 230, 75
"""Height in pixels of a chart with its axis, and of a legend of three lines above it."""

CELL, HEADS = 44, 110
"""Pixels per row of the heat map, and for its column headers."""

SLOPE = -30
"""Angle in degrees of the heat map's column headers."""

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
"""Line styles that repeat the colours."""


def _data(rows: Sequence[LossPoint | CurvePoint | Band]) -> alt.Data:
    """Data next to the specification: a data frame's name in it would change with the data."""
    return alt.Data(values=[row._asdict() for row in rows])


def loss(points: Sequence[LossPoint], *, dark: bool) -> alt.Chart:
    """The training loss by step."""
    return (
        alt.Chart(_data(points))
        .mark_line(color=palette(dark=dark).after)
        .encode(
            x=alt.X("step:Q", title="step", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("loss:Q", title=None, scale=alt.Scale(zero=False)),
            tooltip=[
                alt.Tooltip("step:Q", title="Step"),
                alt.Tooltip("loss:Q", title="Loss", format=".4f"),
            ],
        )
        .properties(height=HEIGHT)
    )


def shares(points: Sequence[CurvePoint], *, dark: bool) -> alt.LayerChart:
    """Accuracies on the validation split, by epoch."""
    colours = palette(dark=dark)
    ranges = [colours.after, colours.before, colours.good]
    return lines(
        points,
        names=list(SHARES.values()),
        colours=ranges,
        y=alt.Y(
            "value:Q",
            title=None,
            scale=alt.Scale(zero=False, domainMax=1),
            axis=alt.Axis(format=".0%"),
        ),
        format_=".1%",
    )


def figure(points: Sequence[CurvePoint], *, dark: bool, zero: bool) -> alt.LayerChart:
    """A single metric by epoch.

    Args:
        zero: whether the axis starts at 0.
    """
    return lines(
        points,
        names=[],
        colours=[palette(dark=dark).after],
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=zero)),
        format_=".3f",
    )


def lines(
    points: Sequence[CurvePoint],
    *,
    names: list[str],
    colours: list[str],
    y: alt.Y,
    format_: str,
    series: str = "Metric",
) -> alt.LayerChart:
    """Lines by epoch, with a legend if they have names. ``series`` says what a line is."""
    base = alt.Chart(_data(points)).encode(
        x=_epochs(),
        y=y,
        tooltip=[
            alt.Tooltip("series:N", title=series),
            alt.Tooltip("epoch:Q", title="Epochs", format=".2~f"),
            alt.Tooltip("step:Q", title="Step"),
            alt.Tooltip("value:Q", title="Value", format=format_),
        ],
    )
    if names:
        base = base.encode(**_distinct(names, colours))
    else:
        base = base.encode(color=alt.value(colours[0]))
    chart: Any = alt.layer(
        base.mark_line(), base.mark_point(filled=True, size=36, opacity=1)
    ).properties(height=HEIGHT + LEGEND * bool(names))
    return chart


def _epochs() -> alt.X:
    return alt.X("epoch:Q", title="epochs", axis=alt.Axis(tickMinStep=1))


def _distinct(names: list[str], colours: list[str]) -> dict[str, Any]:
    """By colour and by line style."""
    legend = alt.Legend(
        title=None,
        orient="top",
        columns=len(names) if sum(map(len, names)) <= LEGEND_WIDTH else columns_for(names),
        symbolType="stroke",
        symbolOpacity=1,
        symbolSize=400,
        labelLimit=260,
    )
    return {
        "color": alt.Color("series:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
        "strokeDash": alt.StrokeDash(
            "series:N", scale=alt.Scale(domain=names, range=[*DASHES[: len(names)]]), legend=legend
        ),
    }


def cosines(bands: Sequence[Band], *, dark: bool) -> alt.LayerChart:
    """Cosine by role and epoch: mean and standard deviation (NevIR's Figure 8).

    The bands of the roles overlap, so a click on a legend entry shows only its band.
    """
    roles = palette(dark=dark).roles
    shown = {band.series for band in bands}
    series = {name: roles[role.name.lower()] for role, name in ROLES.items() if name in shown}
    base = alt.Chart(_data(bands)).encode(
        x=_epochs(),
        tooltip=[
            alt.Tooltip("series:N", title="Role"),
            alt.Tooltip("epoch:Q", title="Epochs", format=".2~f"),
            alt.Tooltip("mean:Q", title="Mean cosine", format=".3f"),
            alt.Tooltip("lower:Q", title="Mean − 1 SD", format=".3f"),
            alt.Tooltip("upper:Q", title="Mean + 1 SD", format=".3f"),
        ],
        **_distinct(list(series), list(series.values())),
    )
    picked = alt.selection_point(name="picked_role", fields=["series"], bind="legend")

    def visible(opacity: float) -> Any:
        return alt.when(picked).then(alt.value(opacity)).otherwise(alt.value(0))

    lower = alt.Y("lower:Q", title=None, scale=alt.Scale(zero=False))
    spread = base.mark_area().encode(y=lower, y2="upper:Q", opacity=visible(0.08))
    # Overlapping bands turn grey; their edges keep the colours.
    edges = [
        base.mark_line(strokeWidth=1).encode(y=edge, opacity=visible(0.6))
        for edge in (lower, alt.Y("upper:Q"))
    ]
    mean = alt.Y("mean:Q")
    chart: Any = alt.layer(
        # Without a name, the view gets one that changes with the data.
        spread.properties(name="bands").add_params(picked),
        *edges,
        base.mark_line().encode(y=mean),
        base.mark_point(filled=True, size=36, opacity=1).encode(y=mean),
    ).properties(height=HEIGHT + LEGEND)
    return chart


def pairs(rows: Sequence[PairShare], *, labels: Mapping[str, str], dark: bool) -> alt.LayerChart:
    """The share of triples ranked correctly by the types of positive and negative.

    Args:
        labels: the types in order, and their labels.
    """
    colours = palette(dark=dark)
    table = [
        {
            "positive": labels.get(row.positive, row.positive),
            "negative": labels.get(row.negative, row.negative),
            "before": row.before,
            "share": row.share,
        }
        for row in rows
    ]
    down, across = (
        [labels.get(key, key) for key in [*labels, *sorted(found - labels.keys())] if key in found]
        for found in ({row.positive for row in rows}, {row.negative for row in rows})
    )
    base = alt.Chart(alt.Data(values=table)).encode(
        y=alt.Y(
            "positive:N",
            sort=down,
            title=None,
            axis=alt.Axis(labelLimit=150, ticks=False, domain=False, labelOverlap=False),
        ),
        x=alt.X(
            "negative:N",
            sort=across,
            title=None,
            axis=alt.Axis(
                orient="top",
                labelAngle=SLOPE,
                labelAlign="left",
                labelLimit=150,
                ticks=False,
                domain=False,
                labelPadding=6,
                labelFlush=False,
                labelOverlap=False,
            ),
        ),
        tooltip=[
            alt.Tooltip("positive:N", title="Positive"),
            alt.Tooltip("negative:N", title="Negative"),
            alt.Tooltip("before:Q", title="Ranked correctly before", format=".1%"),
            alt.Tooltip("share:Q", title="Latest evaluation", format=".1%"),
        ],
    )
    scale = alt.Scale(domain=[0, 1], range=list(colours.sequential))
    cells = base.mark_rect().encode(color=alt.Color("share:Q", scale=scale, legend=None))
    words = base.mark_text(color=colours.ink).encode(text=alt.Text("share:Q", format=".0%"))
    chart: Any = alt.layer(cells, words).properties(
        height=len(down) * CELL + HEADS,
        # Space for the last column header, which is slanted.
        padding={"left": 5, "top": 5, "right": 60, "bottom": 5},
    )
    return chart
