"""The charts of evaluations during training, as pure functions of tidy rows.

Their specifications depend only on the colours and the names of series, so that a page that redraws
them every two seconds only replaces their data.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pages.components.shared.charts.grammar import (
    LEGEND_WIDTH,
    colours_of,
    columns_for,
    layered,
    plain_axis,
    slanted_heads,
    tips,
)
from pages.components.shared.charts.palette import palette
from training.evaluation.figures import LossPoint
from training.finetune.curves import ROLES, SHARES, Band, CurvePoint, Evaluation, PairShare
from training.ranking.figures import (
    DOCUMENTS,
    HIGH,
    LOW,
    NEVIR,
    QUANTILE_NAMES,
    SPREAD,
    quantile,
)

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
            tooltip=tips(("step:Q", "Step"), ("loss:Q", "Loss", ".4f")),
        )
        .properties(height=HEIGHT)
    )


def shares(points: Sequence[CurvePoint], *, dark: bool) -> alt.LayerChart:
    """Accuracies on the validation split, by epoch."""
    return lines(
        points,
        names=list(SHARES.values()),
        colours=first_colours(dark=dark),
        y=values(zero=False, domainMax=1, form=".0%"),
        format_=".1%",
    )


def first_colours(*, dark: bool) -> list[str]:
    """The colours of up to three lines."""
    colours = palette(dark=dark)
    return [colours.after, colours.before, colours.good]


def values(*, form: str = "", **scale: Any) -> alt.Y:
    """The axis of the values.

    Args:
        form: the format of its labels.
        scale: as for ``alt.Scale``.
    """
    axis = alt.Axis(format=form) if form else alt.Undefined
    return alt.Y("value:Q", title=None, scale=alt.Scale(**scale), axis=axis)


def figure(points: Sequence[CurvePoint], *, dark: bool, zero: bool) -> alt.LayerChart:
    """A single metric by epoch.

    Args:
        zero: whether the axis starts at 0.
    """
    return lines(
        points,
        names=[],
        colours=[palette(dark=dark).after],
        y=values(zero=zero),
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
        tooltip=tips(
            ("series:N", series),
            ("epoch:Q", "Epochs", ".2~f"),
            ("step:Q", "Step"),
            ("value:Q", "Value", format_),
        ),
        **(_distinct(names, colours[: len(names)]) if names else {"color": alt.value(colours[0])}),
    )
    return layered(
        base.mark_line(),
        base.mark_point(filled=True, size=36, opacity=1),
        height=HEIGHT + LEGEND * bool(names),
    )


def _epochs() -> alt.X:
    return alt.X("epoch:Q", title="epochs", axis=alt.Axis(tickMinStep=1))


def _distinct(names: list[str], colours: list[str]) -> dict[str, Any]:
    """By colour and by line style."""
    above = alt.Legend(
        title=None,
        orient="top",
        columns=len(names) if sum(map(len, names)) <= LEGEND_WIDTH else columns_for(names),
        symbolType="stroke",
        symbolOpacity=1,
        symbolSize=400,
        labelLimit=260,
    )
    dashes = alt.Scale(domain=names, range=[*DASHES[: len(names)]])
    return {
        "color": colours_of("series:N", names, colours, above),
        "strokeDash": alt.StrokeDash("series:N", scale=dashes, legend=above),
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
        tooltip=tips(
            ("series:N", "Role"),
            ("epoch:Q", "Epochs", ".2~f"),
            ("mean:Q", "Mean cosine", ".3f"),
            ("lower:Q", "Mean − 1 SD", ".3f"),
            ("upper:Q", "Mean + 1 SD", ".3f"),
        ),
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
    means = base.encode(y=alt.Y("mean:Q"))
    return layered(
        # Without a name, the view gets one that changes with the data.
        spread.properties(name="bands").add_params(picked),
        *edges,
        means.mark_line(),
        means.mark_point(filled=True, size=36, opacity=1),
        height=HEIGHT + LEGEND,
    )


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
        y=alt.Y("positive:N", sort=down, title=None, axis=plain_axis(labelLimit=150)),
        x=alt.X(
            "negative:N",
            sort=across,
            title=None,
            axis=slanted_heads(angle=SLOPE, limit=150),
        ),
        tooltip=tips(
            ("positive:N", "Positive"),
            ("negative:N", "Negative"),
            ("before:Q", "Ranked correctly before", ".1%"),
            ("share:Q", "Latest evaluation", ".1%"),
        ),
    )
    scale = alt.Scale(domain=[0, 1], range=list(colours.sequential))
    return layered(
        base.mark_rect().encode(color=alt.Color("share:Q", scale=scale, legend=None)),
        base.mark_text(color=colours.ink).encode(text=alt.Text("share:Q", format=".0%")),
        height=len(down) * CELL + HEADS,
        # Space for the last column header, which is slanted.
        padding={"left": 5, "top": 5, "right": 60, "bottom": 5},
    )


# -- NevIR's Figures 5 and 8, as pure functions of the evaluations after each epoch ---------------


MOST = 3
"""Maximum number of runs in a chart."""


def run_curves(
    runs: Mapping[str, Sequence[Evaluation]], name: str, *, dark: bool
) -> alt.LayerChart:
    """A figure by epoch, one line per run (Figure 5), with 95% intervals of the accuracy.

    Args:
        runs: the epochs of at most `MOST` runs, by the run's name.
        name: the name of a figure in [0, 1].
    """
    points = [
        CurvePoint(epoch.epoch, epoch.step, label, epoch.figures[name])
        for label, epochs in runs.items()
        for epoch in epochs
        if name in epoch.figures
    ]
    drawn = lines(
        points,
        names=list(runs),
        colours=first_colours(dark=dark),
        y=values(domain=[0, 1], form=".0%" if name == NEVIR else ".1f"),
        format_=".1%" if name == NEVIR else ".3f",
        series="Run",
    )
    if name != NEVIR:
        return drawn
    bounds = [
        {
            "epoch": epoch.epoch,
            "series": label,
            "low": epoch.figures[LOW],
            "high": epoch.figures[HIGH],
        }
        for label, epochs in runs.items()
        for epoch in epochs
        if LOW in epoch.figures
    ]
    intervals = (
        alt.Chart(alt.Data(values=bounds))
        .mark_area(opacity=0.12)
        .encode(x="epoch:Q", y="low:Q", y2="high:Q", color=alt.Color("series:N", legend=None))
    )
    return drawn + intervals


def has_documents(epochs: Sequence[Evaluation]) -> bool:
    """Whether `documents` has something to draw: an encoder was evaluated."""
    return any(DOCUMENTS in epoch.figures for epoch in epochs)


def documents(epochs: Sequence[Evaluation], *, dark: bool) -> alt.LayerChart:
    """The cosines between the documents of each held-out pair by epoch, as box plots (Figure 8).

    A box spans the quartiles, with a line at the median and a point at the mean. The line through
    it goes from the minimum to the maximum.
    """
    colours = palette(dark=dark)
    rows = [
        {"epoch": epoch.epoch, "mean": epoch.figures[DOCUMENTS], "sd": epoch.figures[SPREAD]}
        | {title: epoch.figures[quantile(percent)] for percent, title in QUANTILE_NAMES.items()}
        for epoch in epochs
        if DOCUMENTS in epoch.figures
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("epoch:O", title="epochs", axis=alt.Axis(labelAngle=0)),
        tooltip=tips(
            ("epoch:O", "Epoch"),
            ("mean:Q", "Mean", ".3f"),
            ("sd:Q", "Standard deviation", ".3f"),
            *((f"{title}:Q", title.capitalize(), ".3f") for title in QUANTILE_NAMES.values()),
        ),
    )
    start = alt.Y("minimum:Q", title=None, scale=alt.Scale(zero=False))
    return layered(
        base.mark_rule(color=colours.quiet).encode(y=start, y2="maximum:Q"),
        base.mark_bar(color=colours.sequential[4], width={"band": 0.6}).encode(
            y=alt.Y("lower quartile:Q"), y2="upper quartile:Q"
        ),
        base.mark_tick(color=colours.ink, thickness=2, width={"band": 0.6}).encode(
            y=alt.Y("median:Q")
        ),
        base.mark_point(filled=True, size=36, opacity=1, color=colours.before).encode(
            y=alt.Y("mean:Q")
        ),
        height=HEIGHT,
    )
