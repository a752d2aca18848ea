"""Negation against general ability: models as dots, shares of finetuned weights as a curve.

Pure functions of tidy rows. Names of models reach Vega as data only.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from pages.components.shared.charts.grammar import layered, spaced, tips
from pages.components.shared.charts.palette import palette
from training.encoder_run.tradeoff_curve import KEPT, Curve, SharePoint
from training.evaluation.general_ability import RETRIEVAL
from training.evaluation.held_out import STS

SCATTER_HEIGHT, HEIGHT = 400, 360
"""Pixels, axes included."""

SCATTER_ROOM, ROOM = 30, 28
"""Pixels between the points and the frame, for labels."""

LONGEST_LABEL = 180
"""Largest width of a name in pixels, to leave space for the points in a narrow window."""

DOTS_NEAR, NEAR = (0.12, 0.06), (0.09, 0.07)
"""Smallest distance between two labels, as shares of the chart's width and height."""

GENERAL_NAMES: Mapping[str, str] = {
    RETRIEVAL: "Retrieval (MRR@10)",
    STS: "STS (Spearman)",
    KEPT: "1 − drift",
}


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

    A label that would cover another one is left out, those of published models first.

    Args:
        negation, general: axis titles.
    """
    colours = palette(dark=dark)
    names = ("measured", "published")
    kinds = [name for at, name in enumerate(names) if any(dot.published == at for dot in dots)]
    places = [(dot.general, dot.negation) for dot in dots]
    labelled = spaced(places, lambda at: dots[at].published, DOTS_NEAR)
    table = [
        {
            **dot._asdict(),
            "label": dot.model if at in labelled else "",
            "kind": names[dot.published],
        }
        for at, dot in enumerate(dots)
    ]
    roomy = alt.Scale(zero=False, nice=False, padding=SCATTER_ROOM)
    axes: dict[str, Any] = {
        "x": alt.X("general:Q", title=general.lower(), scale=roomy),
        "y": alt.Y("negation:Q", title=negation, scale=roomy),
    }
    base = alt.Chart(pd.DataFrame(table)).encode(
        **axes,
        tooltip=tips(
            ("model:N", "Model"),
            ("kind:N", "Score"),
            ("negation:Q", "Negation", ".1f"),
            ("general:Q", "General", ".1f"),
        ),
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
    # From base models to the models trained from them.
    measured = {dot.model: dot for dot in dots if not dot.published}
    trails = [
        {"trail": dot.model, "general": end.general, "negation": end.negation}
        for dot in measured.values()
        if dot.start in measured and dot.start != dot.model
        for end in (measured[dot.start], dot)
    ]
    lines = [
        alt.Chart(pd.DataFrame(trails))
        .mark_line(color=colours.quiet, strokeWidth=1.5, strokeDash=[4, 3])
        .encode(**axes, detail="trail:N")
    ] * bool(trails)
    return layered(*lines, points, words, height=SCATTER_HEIGHT)


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
    places = [(point.value(general), point.value(negation)) for point in measured.points]

    def rank(at: int) -> tuple[int, int]:
        """The marked point comes first, then the ends, then the model that the run saved."""
        own = measured.points[at].share
        weight = (own == share) * 4 + (own in (0, 1)) * 2 + (own == measured.own_share)
        return -weight, at

    labelled = spaced(places, rank, NEAR)
    ability = [across for across, _ in places]
    middle = (min(ability) + max(ability)) / 2  # a long label on its right would leave the chart
    table = [
        {
            "share": point.share,
            "general": across,
            "negation": up,
            "end": point.share == 0,
            "inward": point.share in (0, 1, measured.own_share) and across > middle,
            "chosen": point.share == share,
            "label": _name(measured, point) if at in labelled else "",
        }
        for at, (point, (across, up)) in enumerate(zip(measured.points, places, strict=True))
    ]
    name = GENERAL_NAMES[general]
    roomy = alt.Scale(zero=False, nice=False, padding=ROOM)
    base = alt.Chart(alt.Data(values=table)).encode(
        x=alt.X(
            "general:Q",
            title=f"general ability: {name}",
            axis=alt.Axis(format=".3~f"),
            scale=roomy,
        ),
        y=alt.Y(
            "negation:Q",
            title=f"negation: {negation_name.lower()}",
            axis=alt.Axis(format=".3~p"),
            scale=roomy,
        ),
        tooltip=tips(
            ("share:Q", "Share", "~g"),
            ("negation:Q", negation_name, ".1%"),
            ("general:Q", name, ".3f"),
        ),
    )
    ring = base.transform_filter("datum.chosen").mark_point(
        size=380, strokeWidth=2.5, color=colours.ink, opacity=1
    )
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        color=alt.condition("datum.end", alt.value(colours.before), alt.value(colours.after)),
        shape=alt.condition("datum.end", alt.value("square"), alt.value("circle")),
    )
    style: dict[str, Any] = {"baseline": "bottom", "dy": -6, "fontSize": 12, "color": colours.ink}
    texts = base.encode(text="label:N")
    return layered(
        base.mark_line(color=colours.quiet, strokeWidth=1.5).encode(order="share:Q"),
        ring,
        points,
        texts.transform_filter("!datum.inward").mark_text(align="left", dx=9, **style),
        texts.transform_filter("datum.inward").mark_text(align="right", dx=-9, **style),
        height=HEIGHT,
    )


def _name(measured: Curve, point: SharePoint) -> str:
    if point.share == 0:
        return "0: before"
    what = {1.0: "finetuned", measured.own_share: f"after, run {measured.training}"}
    return f"{point.share:g}: {what[point.share]}" if point.share in what else f"{point.share:g}"
