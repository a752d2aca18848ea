"""A reliability diagram, as a pure function of its bins."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from curation.review.calibration.figures import Bin
from pages.components.shared.charts.palette import palette

HEIGHT = 220
"""Pixels."""


def draw(bins: Sequence[Bin], *, dark: bool) -> alt.LayerChart:
    """How often a model is right per bin of certainty, with the number of opinions on each bar.

    On the dashed line, the model is right exactly as often as its certainty says.
    """
    colours = palette(dark=dark)
    rows = pd.DataFrame([one._asdict() for one in bins])
    x = alt.X(
        "low:Q",
        title="stated confidence",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%"),
    )
    y = alt.Y(
        "right:Q", title="correct", scale=alt.Scale(domain=[0, 1.08]), axis=alt.Axis(format="%")
    )
    tooltip = [
        alt.Tooltip("items:Q", title="Opinions"),
        alt.Tooltip("certainty:Q", title="Mean confidence", format=".0%"),
        alt.Tooltip("right:Q", title="Correct", format=".0%"),
    ]
    base = alt.Chart(rows)
    bars = base.mark_bar(color=colours.after, stroke=colours.paper).encode(
        x=x, x2="high:Q", y=y, y2=alt.datum(0), tooltip=tooltip
    )
    numbers = (
        base.transform_calculate(middle="(datum.low + datum.high) / 2")
        .mark_text(dy=-7, color=colours.ink)
        .encode(x="middle:Q", y="right:Q", text="items:Q")
    )
    ends = pd.DataFrame([{"low": 0.0, "right": 0.0}, {"low": 1.0, "right": 1.0}])
    line = (
        alt.Chart(ends)
        .mark_line(strokeDash=[4, 3], color=colours.ink)
        .encode(x="low:Q", y="right:Q")
    )
    chart: Any = alt.layer(bars, line, numbers)
    return chart.properties(height=HEIGHT)
