"""Charts of the diagnostics page (except histograms and pairs), as pure functions of tidy rows.

Texts (cues, genres, names of models and types) reach Vega as data only. Values are in data frames,
because Altair would check each value of a list against its schema.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from curation.diagnostics.acceptance import Outcomes
from pages.components.shared.charts.grammar import (
    colours_of,
    layered,
    numbers,
    plain_axis,
    slanted_heads,
    tips,
)
from pages.components.shared.charts.palette import palette

BAR, CELL = 22, 42
"""Pixels per bar with its gap, and per row of a heat map."""

SLOPE = alt.expr("width < 600 ? -90 : -30")
"""Angle of a heat map's column headers in degrees; they are upright in a narrow chart."""


class HeatCell(NamedTuple):
    """One cell of a heat map: ``number`` of the ``of`` variants of its row."""

    row: str
    column: str
    number: int
    of: int


def heat_map(
    cells: Sequence[HeatCell],
    *,
    columns: Mapping[str, str],
    heading: str,
    of: str,
    counted: str = "Variants",
    dark: bool,
) -> alt.LayerChart:
    """A heat map with the share of each row in each column. A stronger colour is a larger share.

    Args:
        cells: all cells, including empty ones, row by row from the top and from left to right.
        columns: keys of the columns, and their names.
        heading: what a column shows, for the tooltip.
        of: what the shares are shares of, for the tooltip.
        counted: what the numbers count, for the tooltip.
    """
    colours = palette(dark=dark)
    values = [
        {
            "row": cell.row,
            "column": columns[cell.column],
            "number": cell.number,
            "of": cell.of,
            "share": cell.number / cell.of if cell.of else 0.0,
            "label": f"{cell.number:,}" if cell.number else "–",
            "percent": f"{cell.number / cell.of:.1%}" if cell.number else "",
        }
        for cell in cells
    ]
    base = alt.Chart(pd.DataFrame(values)).encode(
        x=alt.X(
            "column:N",
            sort=None,
            title=None,
            axis=slanted_heads(angle=SLOPE, limit=200, labelColor=colours.ink),
        ),
        y=_names("row", colours.ink),
    )
    most = max([0.01, *(cell.number / cell.of for cell in cells if cell.of)])
    rectangles = base.mark_rect(cornerRadius=3, stroke=colours.paper, strokeWidth=2).encode(
        color=alt.Color(
            "share:Q",
            scale=alt.Scale(domain=[0, most], range=list(colours.sequential)),
            legend=None,
        ),
        tooltip=tips(
            ("row:N", "Group"),
            ("column:N", heading),
            ("number:Q", counted, ","),
            ("of:Q", of, ","),
            ("share:Q", "Share", ".2%"),
        ),
    )
    return layered(
        rectangles,
        base.mark_text(color=colours.ink, dy=-6, fontSize=12).encode(text="label:N"),
        base.mark_text(color=colours.ink, dy=9, fontSize=11).encode(text="percent:N"),
        height=alt.Step(CELL),
        padding={"top": 6, "right": 30, "bottom": 5},  # space for the last, slanted header
    )


def _names(field: str, ink: str) -> alt.Y:
    """A row for each value, in the order of the data."""
    axis = plain_axis(labelLimit=190, labelColor=ink, labelFlush=False, labelPadding=8, grid=False)
    return alt.Y(f"{field}:N", sort=None, title=None, axis=axis)


def ranking(
    counts: Sequence[tuple[str, int]],
    *,
    of: int,
    name: str,
    title: str,
    colour: str,
    dark: bool,
) -> alt.LayerChart:
    """Bars for the most frequent values, the longest first.

    Args:
        counts: value and number of variants, in this order.
        of: the number of variants that the shares refer to.
        name: a noun in the singular for the values.
        colour: the bars' colour.
    """
    ink = palette(dark=dark).ink
    values = [
        {"value": value, "number": number, "share": number / max(1, of)} for value, number in counts
    ]
    most = max((number for _, number in counts), default=1)
    base = alt.Chart(pd.DataFrame(values)).encode(
        x=alt.X(
            "number:Q",
            title=title,
            scale=alt.Scale(domain=[0, most], nice=False),
            axis=alt.Axis(format=",d", tickCount=5, tickMinStep=1),
        ),
        y=_names("value", ink),
        tooltip=tips(
            ("value:N", name.capitalize()),
            ("number:Q", "Variants", ","),
            ("share:Q", f"Share of all {name}s", ".1%"),
        ),
    )
    bars = base.mark_bar(color=colour, height=14)
    return layered(bars, numbers(base, ink, "number:Q", ",", dx=4), height=alt.Step(BAR))


OUTCOMES = {
    "accepted": "accepted as written",
    "edited": "edited",
    "conflict": "in conflict",
    "rejected": "rejected",
}
"""Outcome → its name, in the order of the bars."""


def acceptance(groups: Mapping[str, Outcomes], *, dark: bool) -> alt.LayerChart:
    """The outcomes of the decided variants of each group, as shares of 1.

    Args:
        groups: name of the group → its outcomes. Groups with decided variants have one bar each,
            from the top.
    """
    colours = palette(dark=dark)
    decided = {name: found for name, found in groups.items() if found.decided}
    values = [
        part | {"group": name}
        for name, found in decided.items()
        for part in stacked(
            {outcome: getattr(found, key) for key, outcome in OUTCOMES.items()}, found.decided
        )
    ]
    y = _names("group", colours.ink)
    bars = (
        alt.Chart(pd.DataFrame(values))
        .mark_bar(height=14)
        .encode(
            x=alt.X(
                "start:Q",
                title="share of the decided variants",
                scale=alt.Scale(domain=[0, 1], nice=False),
                axis=alt.Axis(format=".0%", values=[0, 0.2, 0.4, 0.6, 0.8, 1]),
            ),
            x2="end:Q",
            y=y,
            color=colours_of(
                "outcome:N",
                list(OUTCOMES.values()),
                [colours.after, colours.types["phrase"], colours.quiet, colours.before],
                alt.Legend(title=None, orient="top", symbolType="square", columns=2),
            ),
            tooltip=tips(
                ("group:N", "Group"),
                ("outcome:N", "Outcome"),
                ("number:Q", "Variants", ","),
                ("share:Q", "Share", ".1%"),
            ),
        )
    )
    ends = [
        {"group": name, "start": 1, "label": f"{found.acceptance:.1%}"}
        for name, found in decided.items()
    ]
    whole = alt.Chart(pd.DataFrame(ends)).encode(x=alt.X("start:Q"), y=y)
    return layered(bars, numbers(whole, colours.ink, "label:N"), height=alt.Step(BAR))


def stacked(numbers: Mapping[str, int], of: int) -> list[dict[str, Any]]:
    """The parts of a bar from left to right: their shares of ``of``, and where they lie."""
    parts: list[dict[str, Any]] = []
    start = 0.0
    for outcome, number in numbers.items():
        end = start + number / of
        parts.append(
            {
                "outcome": outcome,
                "number": number,
                "share": number / of,
                "start": start,
                "middle": (start + end) / 2,
                "end": min(1.0, end),
            }
        )
        start = end
    return parts
