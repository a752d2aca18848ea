"""Negation against general ability: models as dots, shares of finetuned weights as a curve.

Pure functions of tidy rows. Names of models reach Vega as data only.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from pages.components.shared.charts.palette import palette
from training.encoder_run.tradeoff_curve import KEPT, Curve, SharePoint
from training.evaluation.general_ability import RETRIEVAL
from training.evaluation.held_out import STS

SCATTER_HEIGHT = 400
SCATTER_ROOM = 30
"""Height in pixels, and space for labels between the points and the frame."""

LONGEST_LABEL = 180
"""Largest width of a name in pixels, to leave space for the points in a narrow window."""

DOTS_NEAR = (0.12, 0.06)
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
    labels = _model_labels(dots)
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
    return alt.Scale(zero=False, nice=False, padding=SCATTER_ROOM)


def _trails(dots: Sequence[Dot]) -> list[dict[str, Any]]:
    """Both ends of the lines from base models to the models trained from them."""
    measured = {dot.model: dot for dot in dots if not dot.published}
    return [
        {"trail": dot.model, "general": end.general, "negation": end.negation}
        for dot in measured.values()
        if dot.start in measured and dot.start != dot.model
        for end in (measured[dot.start], dot)
    ]


def _model_labels(dots: Sequence[Dot]) -> list[str]:
    """A label for each point, measured ones first; '' where it would cover another label."""
    spans = [
        max(values) - min(values) or 1.0
        for values in ([dot.general for dot in dots], [dot.negation for dot in dots])
    ]
    shown: list[int] = []
    for at in sorted(range(len(dots)), key=lambda at: dots[at].published):
        if not any(_dots_near(dots[at], dots[other], spans) for other in shown):
            shown.append(at)
    return [dot.model if at in shown else "" for at, dot in enumerate(dots)]


def _dots_near(one: Dot, other: Dot, spans: Sequence[float]) -> bool:
    across = abs(one.general - other.general) / spans[0]
    up = abs(one.negation - other.negation) / spans[1]
    return across < DOTS_NEAR[0] and up < DOTS_NEAR[1]


# -- Negation against general ability for every share of finetuned weights, as a curve ------------


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
    labels = _share_labels(
        measured, [(row["general"], row["negation"]) for row in rows], share=share
    )
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


def _share_labels(
    measured: Curve, places: Sequence[tuple[float, float]], *, share: float
) -> list[str]:
    """A label for each point; "" where it would cover the label of a more important one."""
    spans = [max(values) - min(values) or 1.0 for values in zip(*places, strict=True)]
    order = sorted(
        range(len(places)), key=lambda at: (-_weight(measured, measured.points[at], share), at)
    )
    shown: list[int] = []
    for at in order:
        if not any(_places_near(places[at], places[other], spans) for other in shown):
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


def _places_near(
    one: tuple[float, float], other: tuple[float, float], spans: Sequence[float]
) -> bool:
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
