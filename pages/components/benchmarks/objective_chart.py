"""SemAntoNeg's accuracy by training objective as a chart, a pure function of tidy rows.

Names of models reach Vega as data only.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from pages.components.shared.charts.palette import palette
from training.benchmarks.results.objectives import (
    OBJECTIVES,
    OTHER,
    ModelAccuracy,
    ObjectiveGroup,
)

ROW = 56
"""Height in pixels of a group."""

AROUND = 80
"""Height in pixels of the axis and the legend."""

LONGEST_LABEL = 150
"""Width in pixels of a model's name next to its point."""


def draw(
    groups: Sequence[ObjectiveGroup],
    models: Sequence[ModelAccuracy],
    *,
    chance: float,
    dark: bool,
) -> alt.LayerChart:
    """One row per group: its middle half, its mean, each published model, and the measured ones.

    Args:
        models: published and measured; published models without an objective are left out.
        chance: score of random guessing, in points.
    """
    colours = palette(dark=dark)
    shown = [model for model in models if not model.published or model.objective != OTHER]
    names = [
        name for name in (*OBJECTIVES, OTHER) if any(model.objective == name for model in shown)
    ]
    y = alt.Y("objective:N", sort=names, title=None, axis=alt.Axis(labelLimit=160))
    x = alt.X(
        "accuracy:Q",
        title="accuracy",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 20, 40, 60, 80, 100]),
    )
    boxes = _frame([group._asdict() for group in groups], "objective", "mean", "lower", "upper")
    table = _frame([model._asdict() | {"objective": model.objective} for model in shown])
    columns = [
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("accuracy:Q", title="Accuracy", format=".1f"),
    ]
    band = (
        alt.Chart(boxes)
        .mark_bar(height={"band": 0.6}, color=colours.sequential[2])
        .encode(
            y=y,
            x=alt.X("lower:Q", title="accuracy"),
            x2="upper:Q",
            tooltip=[
                alt.Tooltip("objective:N", title="Objective"),
                alt.Tooltip("models:Q", title="Published models"),
                alt.Tooltip("mean:Q", title="Mean", format=".1f"),
                alt.Tooltip("variance:Q", title="Variance", format=".1f"),
            ],
        )
    )
    means = (
        alt.Chart(boxes)
        .mark_tick(thickness=3, height={"band": 0.75}, color=colours.ink)
        .encode(y=y, x=alt.X("mean:Q", title="accuracy"))
    )
    base = alt.Chart(table).encode(y=y, x=x, tooltip=columns)
    ticks = base.transform_filter("datum.published").mark_tick(
        thickness=1.5, height={"band": 0.35}, color=colours.quiet
    )
    own = base.transform_filter("!datum.published")
    points = own.mark_point(size=110, filled=True, opacity=1, shape="diamond", color=colours.before)
    words = own.mark_text(align="left", dy=-22, limit=LONGEST_LABEL, color=colours.ink).encode(
        text="model:N"
    )
    guess = (
        alt.Chart(pd.DataFrame([{"chance": chance}]))
        .mark_rule(strokeDash=[4, 3], color=colours.quiet)
        .encode(x=alt.X("chance:Q", title="accuracy"))
    )
    chart: Any = alt.layer(guess, band, ticks, means, points, words)
    return chart.properties(height=ROW * len(names) + AROUND)


def _frame(rows: Sequence[dict[str, Any]], *names: str) -> pd.DataFrame:
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(names))
