"""The charts of evaluations during training, as pure functions of tidy rows.

Their specifications depend only on the colours and the names of series, so that a page that redraws
them every two seconds only replaces their data.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pages.components.shared.charts.palette import palette
from pages.components.shared.charts.similarity_bars import LEGEND_WIDTH, columns_for
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


# -- NevIR's Figures 5 and 8, as pure functions of the evaluations after each epoch ---------------


MOST = 3
"""Maximum number of runs in a chart."""


def run_curves(
    runs: Mapping[str, Sequence[Evaluation]], name: str, *, dark: bool
) -> alt.LayerChart:
    """A figure by epoch, one line per run (Figure 5).

    Args:
        runs: the epochs of at most `MOST` runs, by the run's name.
        name: the name of a figure in [0, 1].
    """
    colours = palette(dark=dark)
    points = [
        CurvePoint(epoch.epoch, epoch.step, label, epoch.figures[name])
        for label, epochs in runs.items()
        for epoch in epochs
        if name in epoch.figures
    ]
    drawn = lines(
        points,
        names=list(runs),
        colours=[colours.after, colours.before, colours.good][: len(runs)],
        y=alt.Y(
            "value:Q",
            title=None,
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format=".0%" if name == NEVIR else ".1f"),
        ),
        format_=".1%" if name == NEVIR else ".3f",
        series="Run",
    )
    return drawn + _intervals(runs) if name == NEVIR else drawn


def _intervals(runs: Mapping[str, Sequence[Evaluation]]) -> alt.Chart:
    """The 95% intervals of the accuracy, one band per run."""
    rows = [
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
    band: alt.Chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_area(opacity=0.12)
        .encode(x="epoch:Q", y="low:Q", y2="high:Q", color=alt.Color("series:N", legend=None))
    )
    return band


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
        tooltip=[
            alt.Tooltip("epoch:O", title="Epoch"),
            alt.Tooltip("mean:Q", title="Mean", format=".3f"),
            alt.Tooltip("sd:Q", title="Standard deviation", format=".3f"),
            *(
                alt.Tooltip(f"{title}:Q", title=title.capitalize(), format=".3f")
                for title in QUANTILE_NAMES.values()
            ),
        ],
    )
    scale = alt.Scale(zero=False)
    chart: Any = alt.layer(
        base.mark_rule(color=colours.quiet).encode(
            y=alt.Y("minimum:Q", title=None, scale=scale), y2="maximum:Q"
        ),
        base.mark_bar(color=colours.sequential[4], width={"band": 0.6}).encode(
            y=alt.Y("lower quartile:Q"), y2="upper quartile:Q"
        ),
        base.mark_tick(color=colours.ink, thickness=2, width={"band": 0.6}).encode(
            y=alt.Y("median:Q")
        ),
        base.mark_point(filled=True, size=36, opacity=1, color=colours.before).encode(
            y=alt.Y("mean:Q")
        ),
    ).properties(height=HEIGHT)
    return chart
