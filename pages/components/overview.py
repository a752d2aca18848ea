"""The funnel as a chart: one column per stage, one row per type, each number above its bar."""

from collections.abc import Iterator
from typing import Any

from curation.overview.funnel import Funnel
from curation.taxonomy.surface_check import ROLES, role_name
from pages.components.shared.charts.palette import palette

STAGES = {
    "anchors": ("Anchors", "Affirmative sentences that have a variant of this type."),
    "variants": ("Variants", "Sentences of this type. An edited variant counts once."),
    "diagnosed": ("Measured", "Variants whose distance, flags and similarity have been computed."),
    "decided": ("Decided", "Variants that are accepted, rejected or in conflict."),
    "accepted": ("Accepted", "Variants accepted as written or after an edit."),
    "released": ("Released", "Variants in the newest release."),
    "triples": ("Triples", "Triples of the newest release that contain a variant of this type."),
    "trained": ("Trained", "Variants in the training split of the newest model's release."),
}
"""Column of the funnel → its name and what it counts."""


CELL = 0.82
"""Share of a column's width that the longest bar fills."""

ROW_HEIGHT, AROUND = 36, 128
"""Pixels per row, and pixels for column heads and legend together."""

FONT_SIZE = 11

_HIGH, _LOW, _TOTAL = {"expr": "width < 600 ? -40 : -25"}, -25, -10
"""Vertical positions of the column heads, in pixels; negative is above the first row. A wide page
has all names in one line."""


def funnel_chart(state: Funnel, *, dark: bool) -> dict[str, Any]:
    """How far each type has come, as a Vega-Lite specification.

    It is one plain chart, because a faceted chart would not follow the width of the page. Bars that
    count sentences share one scale. Triples have their own, because there are many more of them.
    The specification is written by hand because importing Altair would take a third of the time
    until the first page appears.
    """
    ink = palette(dark=dark).ink
    cells: dict[str, Any] = {
        "data": {"values": list(_cells(state))},
        "encoding": {
            "x": _start(),
            "y": {
                "field": "type",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {
                    "ticks": False,
                    "domain": False,
                    "labelLimit": 150,
                    "labelPadding": 10,
                    "labelColor": ink,
                },
            },
            "tooltip": [
                {"field": "type", "type": "nominal", "title": "Type"},
                {"field": "stage", "type": "nominal", "title": "Stage"},
                {"field": "number", "type": "quantitative", "title": "Number", "format": ","},
                {"field": "meaning", "type": "nominal", "title": "Counts"},
            ],
        },
    }
    numbers = cells | {
        "mark": _text(ink) | {"dy": -7},
        "encoding": cells["encoding"] | {"text": {"field": "short", "type": "nominal"}},
    }
    return {
        "padding": {"bottom": 5},  # Streamlit would leave 20 pixels
        "height": ROW_HEIGHT * max(1, len(state.rows)) + AROUND,
        "layer": [_bars(state, cells, dark=dark), numbers, *_heads(state, ink)],
    }


def _bars(state: Funnel, cells: dict[str, Any], *, dark: bool) -> dict[str, Any]:
    colours = palette(dark=dark)
    roles = [role for role in ROLES if any(row.role == role for row in state.rows)]
    colour = {
        "field": "role",
        "type": "nominal",
        "title": None,
        "scale": {
            "domain": [ROLES[role].name for role in roles],
            "range": [colours.roles[role] for role in roles],
        },
        "legend": {"orient": "bottom", "columns": 2, "labelColor": colours.ink},
    }
    return cells | {
        "mark": {"type": "bar", "height": 9, "yOffset": 7, "cornerRadiusEnd": 2},
        "encoding": cells["encoding"] | {"x2": {"field": "end"}, "color": colour},
    }


def _text(ink: str, *, align: str = "left") -> dict[str, Any]:
    return {
        "type": "text",
        "align": align,
        "baseline": "middle",
        "fontSize": FONT_SIZE,
        "color": ink,
    }


def _start() -> dict[str, Any]:
    return {
        "field": "start",
        "type": "quantitative",
        "axis": {
            "values": list(range(len(STAGES))),
            "labels": False,
            "ticks": False,
            "domain": False,
            "title": None,
        },
        "scale": {"domain": [0, len(STAGES) + 0.25], "nice": False},
    }


def _heads(state: Funnel, ink: str) -> Iterator[dict[str, Any]]:
    """The column names with the totals below them.

    Every other name is one line higher, because on a narrow page a column is narrower than its
    name.
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
        yield {
            "data": {"values": part},
            "mark": _text(ink),
            "encoding": {
                "x": _start(),
                "y": {"value": y},
                "text": {"field": field, "type": "nominal"},
            },
        }
    yield {
        "data": {"values": [{"label": state.total.label}]},
        "mark": _text(ink, align="right"),
        "encoding": {
            "x": {"value": -10},
            "y": {"value": _TOTAL},
            "text": {"field": "label", "type": "nominal"},
        },
    }


def _short(number: int) -> str:
    """About five characters, since a column is 36 pixels wide on an 800-pixel page."""
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
                "role": role_name(row.role),
                "stage": stage,
                "meaning": meaning,
                "number": number,
                "short": _short(number),
                "start": at,
                "end": at + CELL * number / max(1, scale),
            }
