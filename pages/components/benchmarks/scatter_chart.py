"""Negation against general ability as a chart, a pure function of tidy rows.

Names of models reach Vega as data only.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from pages.components.shared.charts.palette import palette

SCATTER_HEIGHT = 400
ROOM = 30
"""Height in pixels, and space for labels between the points and the frame."""

LONGEST_LABEL = 180
"""Largest width of a name in pixels, to leave space for the points in a narrow window."""

NEAR = (0.12, 0.06)
"""Smallest distance between two labels, as shares of the chart's width and height."""


class Dot(NamedTuple):
    """Negation against general ability, both in points.

    Attributes:
        start: the name of its measured base model; '' for none.
    """

    model: str
    negation: float
    general: float
    start: str = ""
    published: bool = False


def scatter(dots: Sequence[Dot], *, negation: str, general: str, dark: bool) -> alt.LayerChart:
    """Negation against general ability: the gains and costs of finetuning.

    Args:
        negation, general: axis titles.
    """
    colours = palette(dark=dark)
    labels = _labels(dots)
    names = ("measured", "published")
    kinds = [name for at, name in enumerate(names) if any(dot.published == at for dot in dots)]
    table = pd.DataFrame(
        [
            {**dot._asdict(), "label": label, "kind": names[dot.published]}
            for dot, label in zip(dots, labels, strict=True)
        ]
    )
    axes: dict[str, Any] = {
        "x": alt.X("general:Q", title=general.lower(), scale=_roomy()),
        "y": alt.Y("negation:Q", title=negation, scale=_roomy()),
    }
    base = alt.Chart(table).encode(
        **axes,
        tooltip=[
            alt.Tooltip("model:N", title="Model"),
            alt.Tooltip("kind:N", title="Score"),
            alt.Tooltip("negation:Q", title="Negation", format=".1f"),
            alt.Tooltip("general:Q", title="General", format=".1f"),
        ],
    )
    above = alt.Legend(title=None, orient="top", labelColor=colours.ink, values=kinds)

    def by_kind(*values: str) -> dict[str, Any]:
        return {"scale": alt.Scale(domain=names, range=values), "legend": above}

    points = base.mark_point(size=110, strokeWidth=2, opacity=1).encode(
        stroke=alt.Stroke("kind:N", **by_kind(colours.after, colours.before)),
        fill=alt.Fill("kind:N", **by_kind(colours.after, "transparent")),
        shape=alt.Shape("kind:N", **by_kind("circle", "square")),
    )
    words = base.mark_text(
        align="left", dx=10, dy=-8, fontSize=12, limit=LONGEST_LABEL, color=colours.ink
    ).encode(text="label:N")
    layers: list[Any] = [points, words]
    if trails := _trails(dots):
        line = (
            alt.Chart(pd.DataFrame(trails))
            .mark_line(color=colours.quiet, strokeWidth=1.5, strokeDash=[4, 3])
            .encode(**axes, detail="trail:N")
        )
        layers.insert(0, line)
    chart: Any = alt.layer(*layers).properties(height=SCATTER_HEIGHT)
    return chart


def _roomy() -> alt.Scale:
    return alt.Scale(zero=False, nice=False, padding=ROOM)


def _trails(dots: Sequence[Dot]) -> list[dict[str, Any]]:
    """Both ends of the lines from base models to the models trained from them."""
    measured = {dot.model: dot for dot in dots if not dot.published}
    return [
        {"trail": dot.model, "general": end.general, "negation": end.negation}
        for dot in measured.values()
        if dot.start in measured and dot.start != dot.model
        for end in (measured[dot.start], dot)
    ]


def _labels(dots: Sequence[Dot]) -> list[str]:
    """A label for each point, measured ones first; '' where it would cover another label."""
    spans = [
        max(values) - min(values) or 1.0
        for values in ([dot.general for dot in dots], [dot.negation for dot in dots])
    ]
    shown: list[int] = []
    for at in sorted(range(len(dots)), key=lambda at: dots[at].published):
        if not any(_near(dots[at], dots[other], spans) for other in shown):
            shown.append(at)
    return [dot.model if at in shown else "" for at, dot in enumerate(dots)]


def _near(one: Dot, other: Dot, spans: Sequence[float]) -> bool:
    across = abs(one.general - other.general) / spans[0]
    up = abs(one.negation - other.negation) / spans[1]
    return across < NEAR[0] and up < NEAR[1]
