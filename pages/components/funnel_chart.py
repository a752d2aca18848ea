"""The funnel as a chart: a column a stage, a row a type, the number above its bar."""

from collections.abc import Iterator

import altair as alt

from curation.funnel import Funnel
from pages.components.palette import palette

STAGES = {
    "anchors": ("Anchors", "Affirmative sentences that have a variant of this type."),
    "variants": ("Variants", "Sentences of this type; an edited one counts once."),
    "diagnosed": ("Measured", "With distance, flags and similarity to the anchor."),
    "decided": ("Decided", "Accepted, rejected or in conflict."),
    "accepted": ("Accepted", "Good as they stand, or as an edit made them."),
    "released": ("Released", "Frozen in the newest release."),
    "triples": ("Triples", "Of the newest release, with a variant of this type in them."),
    "trained": ("Trained", "In the training part that the newest model learnt from."),
}
"""Column of the funnel → its name, and what it counts."""

ROLES = {"negation": "Negations", "hedge": "Hedges", "paraphrase": "Paraphrases"}

CELL = 0.82
"""The part of a column that the longest bar fills."""

ROW_HEIGHT, AROUND = 36, 110
"""Pixels a row, and for heads and legend together."""

FONT_SIZE = 11

_HIGH, _LOW, _TOTAL = -40, -25, -10
"""Where the heads stand, in pixels above the first row."""


def funnel_chart(state: Funnel, *, dark: bool) -> alt.LayerChart:
    """How far each type has come.

    One plain chart and not a faceted one, which would not follow the width of the page. Bars of
    sentences have one scale; those of triples, of which there are many more, their own.
    """
    colours = palette(dark=dark)
    ink = colours.ink
    base = alt.Chart(alt.Data(values=list(_cells(state)))).encode(
        y=alt.Y(
            "type:N",
            sort=None,
            title=None,
            axis=alt.Axis(
                ticks=False, domain=False, labelLimit=150, labelPadding=10, labelColor=ink
            ),
        ),
        tooltip=[
            alt.Tooltip("type:N", title="Type"),
            alt.Tooltip("stage:N", title="Stage"),
            alt.Tooltip("number:Q", title="Number", format=","),
            alt.Tooltip("meaning:N", title="Counts"),
        ],
    )
    roles = [role for role in ROLES if any(row.role == role for row in state.rows)]
    bars = base.mark_bar(height=9, yOffset=7, cornerRadiusEnd=2).encode(
        x=_start(),
        x2="end:Q",
        color=alt.Color(
            "role:N",
            scale=alt.Scale(
                domain=[ROLES[role] for role in roles],
                range=[colours.roles[role] for role in roles],
            ),
            title=None,
            legend=alt.Legend(orient="bottom", labelColor=ink),
        ),
    )
    numbers = base.mark_text(
        align="left", baseline="middle", dy=-7, color=ink, fontSize=FONT_SIZE
    ).encode(x=_start(), text="short:N")
    height = ROW_HEIGHT * max(1, len(state.rows)) + AROUND
    chart = alt.layer(bars, numbers, *_heads(state, ink))
    return chart.properties(height=height)  # type: ignore[return-value]


def _start() -> alt.X:
    axis = alt.Axis(
        values=list(range(len(STAGES))), labels=False, ticks=False, domain=False, title=None
    )
    return alt.X("start:Q", axis=axis, scale=alt.Scale(domain=[0, len(STAGES) + 0.5], nice=False))


def _heads(state: Funnel, ink: str) -> Iterator[alt.Chart]:
    """The names of the columns and, below them, the totals.

    Every other name stands a line higher: on a narrow page a column is narrower than its name.
    """
    heads = [
        {"start": at, "name": name, "total": _short(getattr(state.total, column))}
        for at, (column, (name, _)) in enumerate(STAGES.items())
    ]
    for part, field, y in (
        (heads[::2], "name", _HIGH),
        (heads[1::2], "name", _LOW),
        (heads, "total", _TOTAL),
    ):
        yield (
            alt.Chart(alt.Data(values=part))
            .mark_text(align="left", baseline="middle", fontSize=FONT_SIZE, color=ink)
            .encode(x=_start(), y=alt.value(y), text=f"{field}:N")
        )
    yield (
        alt.Chart(alt.Data(values=[{"label": state.total.label}]))
        .mark_text(align="right", baseline="middle", fontSize=FONT_SIZE, color=ink)
        .encode(x=alt.value(-10), y=alt.value(_TOTAL), text="label:N")
    )


def _short(number: int) -> str:
    """Five characters or little more: a column is 36 pixels wide on a page of 800."""
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1000:.1f}k" if number < 100_000 else f"{round(number / 1000):,}k"


def _cells(state: Funnel) -> Iterator[dict[str, object]]:
    longest = max((max(row.anchors, row.variants) for row in state.rows), default=0)
    most_triples = max((row.triples for row in state.rows), default=0)
    for row in state.rows:
        for at, (name, (stage, meaning)) in enumerate(STAGES.items()):
            number = getattr(row, name)
            scale = most_triples if name == "triples" else longest
            yield {
                "type": row.label,
                "role": ROLES.get(row.role, row.role),
                "stage": stage,
                "meaning": meaning,
                "number": number,
                "short": _short(number),
                "start": at,
                "end": at + CELL * number / max(1, scale),
            }
