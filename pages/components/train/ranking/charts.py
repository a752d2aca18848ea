"""NevIR's Figures 5 and 8, as pure functions of the evaluations after each epoch."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pages.components.shared.charts.palette import palette
from pages.components.train.results.curve_charts import HEIGHT, lines
from training.ranking.epochs import QUANTILE_NAMES, SPREAD, EpochFigures
from training.ranking.figures import DOCUMENTS, HIGH, LOW, NEVIR, quantile
from training.runs.curves import CurvePoint

MOST = 3
"""Maximum number of runs in a chart."""


def curves(runs: Mapping[str, Sequence[EpochFigures]], name: str, *, dark: bool) -> alt.LayerChart:
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


def _intervals(runs: Mapping[str, Sequence[EpochFigures]]) -> alt.Chart:
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


def has_documents(epochs: Sequence[EpochFigures]) -> bool:
    """Whether `documents` has something to draw: an encoder was evaluated."""
    return any(DOCUMENTS in epoch.figures for epoch in epochs)


def documents(epochs: Sequence[EpochFigures], *, dark: bool) -> alt.LayerChart:
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
