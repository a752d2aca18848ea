"""Negation against general ability for every share of finetuned weights, as a curve.

A pure function of the measurements; contains no user text.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pages.components.shared.charts.palette import palette
from training.evaluation.held_out import STS
from training.evaluation.retrieval import RETRIEVAL
from training.retention.tradeoff_curve import KEPT, Curve, SharePoint

HEIGHT = 360
"""Pixels, axes included."""

ROOM = 28
"""Pixels between the points and the frame, for labels."""

NEAR = (0.09, 0.07)
"""Smallest distance between two labels, as shares of the curve's width and height."""

GENERAL_NAMES: Mapping[str, str] = {
    RETRIEVAL: "Retrieval (MRR@10)",
    STS: "STS (Spearman)",
    KEPT: "1 − drift",
}


def curve(
    measured: Curve,
    *,
    general: str,
    negation: str,
    negation_name: str,
    share: float,
    dark: bool,
) -> alt.LayerChart:
    """The curve, with the point of a share marked.

    Args:
        general, negation: metrics that are measured at every point; the latter in [0, 1].
        negation_name: label of the negation metric.
        share: the share of the marked point.
    """
    colours = palette(dark=dark)
    ability = [point.value(general) for point in measured.points]
    middle = (min(ability) + max(ability)) / 2  # a long label on its right would leave the chart
    rows = [
        {
            "share": point.share,
            "general": point.value(general),
            "negation": point.value(negation),
            "end": point.share == 0,
            "inward": point.share in (0, 1, measured.own_share) and point.value(general) > middle,
            "chosen": point.share == share,
        }
        for point in measured.points
    ]
    labels = _labels(measured, [(row["general"], row["negation"]) for row in rows], share=share)
    table = [row | {"label": label} for row, label in zip(rows, labels, strict=True)]
    name = GENERAL_NAMES[general]
    base = alt.Chart(alt.Data(values=table)).encode(
        x=alt.X(
            "general:Q",
            title=f"general ability: {name}",
            axis=alt.Axis(format=".3~f"),
            scale=alt.Scale(zero=False, nice=False, padding=ROOM),
        ),
        y=alt.Y(
            "negation:Q",
            title=f"negation: {negation_name.lower()}",
            axis=alt.Axis(format=".3~p"),
            scale=alt.Scale(zero=False, nice=False, padding=ROOM),
        ),
        tooltip=[
            alt.Tooltip("share:Q", title="Share", format="~g"),
            alt.Tooltip("negation:Q", title=negation_name, format=".1%"),
            alt.Tooltip("general:Q", title=name, format=".3f"),
        ],
    )
    line = base.mark_line(color=colours.quiet, strokeWidth=1.5).encode(order="share:Q")
    ring = base.transform_filter("datum.chosen").mark_point(
        size=380, strokeWidth=2.5, color=colours.ink, opacity=1
    )
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        color=alt.condition("datum.end", alt.value(colours.before), alt.value(colours.after)),
        shape=alt.condition("datum.end", alt.value("square"), alt.value("circle")),
    )
    labelled = base.encode(text="label:N")
    style: dict[str, Any] = {"baseline": "bottom", "dy": -6, "fontSize": 12, "color": colours.ink}
    words = [
        labelled.transform_filter("!datum.inward").mark_text(align="left", dx=9, **style),
        labelled.transform_filter("datum.inward").mark_text(align="right", dx=-9, **style),
    ]
    drawn: Any = alt.layer(line, ring, points, *words).properties(height=HEIGHT)
    return drawn


def _labels(measured: Curve, places: Sequence[tuple[float, float]], *, share: float) -> list[str]:
    """A label for each point; "" where it would cover the label of a more important one."""
    spans = [max(values) - min(values) or 1.0 for values in zip(*places, strict=True)]
    order = sorted(
        range(len(places)), key=lambda at: (-_weight(measured, measured.points[at], share), at)
    )
    shown: list[int] = []
    for at in order:
        if not any(_near(places[at], places[other], spans) for other in shown):
            shown.append(at)
    return [
        _name(measured, point) if at in shown else "" for at, point in enumerate(measured.points)
    ]


def _weight(measured: Curve, point: SharePoint, share: float) -> int:
    return (
        (point.share == share) * 4
        + (point.share in (0, 1)) * 2
        + (point.share == measured.own_share)
    )


def _near(one: tuple[float, float], other: tuple[float, float], spans: Sequence[float]) -> bool:
    return all(
        abs(a - b) / span < limit for a, b, span, limit in zip(one, other, spans, NEAR, strict=True)
    )


def _name(measured: Curve, point: SharePoint) -> str:
    if point.share == 0:
        return "0: before"
    what = {1.0: "finetuned"}.get(point.share, "")
    if point.share == measured.own_share:
        what = f"after, run {measured.training}"
    return f"{point.share:g}: {what}" if what else f"{point.share:g}"
