"""What the views of Compare are made of: a model's cosines, charts to save, and tables of pairs.

Texts reach Vega as data, never as expressions; it draws them as plain text.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.components.shared import tables
from pages.components.shared.charts.grammar import (
    WHOLE_BAND,
    colours_of,
    columns_for,
    grouped,
    groups,
    layered,
    legend,
    numbers,
    plain_axis,
    side_by_side,
    tips,
)
from pages.components.shared.charts.palette import palette
from pages.components.shared.charts.similarity_bars import TICKS, axis_start
from training.evaluation.similarity import AFFIRMED, CONTRADICTED, WEAKENED

DIGITS = 3
"""Decimal places of a cosine."""

DIFFERENCE = "B − A"
"""The column with the difference between two models."""


class ComparedModel(NamedTuple):
    """One of the compared models, with its cosines."""

    letter: str
    """A or B, as in the page's tables."""
    label: str
    """As in charts."""
    cosines: Any
    """A list with one cosine per pair of the set, or a matrix of all sentences."""


def table(rows: Sequence[tuple[Any, ...]], sides: Sequence[ComparedModel]) -> None:
    """One pair of sentences per row, with its cosine under each model."""
    table = [
        {"First": row[0], "Second": row[1]}
        | {side.letter: float(value) for side, value in zip(sides, row[2:], strict=True)}
        | ({DIFFERENCE: float(row[3] - row[2])} if len(sides) > 1 else {})
        for row in rows
    ]
    small = st.column_config.NumberColumn(width="small")
    with st.expander("Show the numbers", icon=":material/table:"):
        st.dataframe(
            tables.decimals(table, DIGITS, signed=[DIFFERENCE]),
            hide_index=True,
            column_config=dict.fromkeys((*(side.letter for side in sides), DIFFERENCE), small),
            height=360,
        )


def download(
    header: Sequence[str], rows: Sequence[tuple[Any, ...]], sides: Sequence[ComparedModel]
) -> None:
    """A button that downloads a table: texts, then one cosine per model."""
    names = [*header, *(f"cosine, {side.label}" for side in sides)]
    texts = len(header)
    lines = [(*row[:texts], *(round(float(value), 4) for value in row[texts:])) for row in rows]
    tables.csv_button(
        lambda: (names, lines),
        "hedgerow-compare",
        key="compare-csv",
        label="Download CSV",
        type="secondary",
    )


# -- The Compare page's charts: roles of groups as in Figure 1, and heat maps ---------------------


ROLE_LABELS = {
    CONTRADICTED: "contradicted\n(should be lowest)",
    WEAKENED: "weakened\n(should stay high)",
    AFFIRMED: "affirmed\n(should stay high)",
}

VALUE_AT = 1.03
"""Position of a bar's number: beyond every possible cosine."""
AXIS_END = 1.15

NUMBERED = 12
"""Largest number of sentences with a number in every cell of a heat map."""
NAMED = 40
"""Largest number of sentences written next to the rows of a heat map; tooltips always have them."""
ROW_LABEL = 34
"""Characters of a sentence next to its row."""
LEAST_CELL, MOST_CELL, WHOLE = 3, 36, 460
"""Pixels per row of a heat map, and about the height of all rows."""
AROUND = 100
"""Pixels for axis, legend and margins."""

STEPS = 10
"""Colours of a heat map's scale."""


class RoleRow(NamedTuple):
    """The cosine of one sentence of a group with its anchor, under one model."""

    role: str
    series: str
    anchor: str
    text: str
    cosine: float


def roles(rows: Sequence[RoleRow], *, dark: bool, first: str) -> alt.LayerChart:
    """The mean cosine by role and model as bars, and each group as a thin line.

    Args:
        first: the model that gets the colour of 'before'.
    """
    colours = palette(dark=dark)
    series = list(dict.fromkeys(row.series for row in rows))
    columns = columns_for(series)
    paints = [colours.before if name == first else colours.after for name in series]
    points = pd.DataFrame([{**row._asdict(), "label": ROLE_LABELS[row.role]} for row in rows])
    of_role = points.groupby(["label", "series"], sort=False)["cosine"]
    means = of_role.agg(cosine="mean", groups="size").reset_index()
    x = alt.X(
        "cosine:Q",
        title="cosine similarity",
        scale=alt.Scale(domain=[min([0.0, *points["cosine"]]), AXIS_END]),
        axis=alt.Axis(values=TICKS),
    )
    shown = (("series:N", "Model"), ("cosine:Q", "Cosine", ".3f"))
    of_means, of_groups = (
        alt.Chart(table).encode(
            y=groups("label", list(ROLE_LABELS.values())), yOffset=side_by_side(series), x=x
        )
        for table in (means, points)
    )
    bars = of_means.mark_bar(height=WHOLE_BAND).encode(
        color=colours_of("series:N", series, paints, legend(colours.ink, columns)),
        tooltip=tips(*shown, ("groups:Q", "Groups")),
    )
    ticks = of_groups.mark_tick(
        color=colours.ink, opacity=0.35, thickness=1.5, height=WHOLE_BAND
    ).encode(tooltip=tips(("anchor:N", "Anchor"), ("text:N", "Sentence"), *shown))
    values = numbers(of_means, colours.ink, "cosine:Q", ".2f", dx=0).encode(
        x=alt.X(datum=VALUE_AT, type="quantitative")
    )
    return grouped(
        bars, ticks, values, labels=ROLE_LABELS.values(), bars=len(series), columns=columns
    )


def shared_low(matrices: Sequence[np.ndarray]) -> float:
    """The start of the scale that the heat maps share."""
    return axis_start(float(matrix.min()) for matrix in matrices)


def heat_map(
    matrix: np.ndarray, sentences: Sequence[str], *, low: float, dark: bool
) -> alt.LayerChart:
    """The cosine of every two sentences.

    Args:
        matrix: shape (len(sentences), len(sentences)), in [-1, 1].
        low: start of the colour scale; it ends at 1.
    """
    colours = list(palette(dark=dark).sequential)
    return _cells(matrix, sentences, bounds=(low, 1.0), colours=colours, title="cosine", dark=dark)


def difference(matrix: np.ndarray, sentences: Sequence[str], *, dark: bool) -> alt.LayerChart:
    """The difference between the models' cosines: blue is higher, orange is lower."""
    most = max(0.1, math.ceil(float(np.abs(matrix).max()) * 10) / 10)
    colours = list(palette(dark=dark).diverging)
    return _cells(
        matrix, sentences, bounds=(-most, most), colours=colours, title="difference", dark=dark
    )


def _cells(
    matrix: np.ndarray,
    sentences: Sequence[str],
    *,
    bounds: tuple[float, float],
    colours: list[str],
    title: str,
    dark: bool,
) -> alt.LayerChart:
    positions = [str(number) for number in range(1, len(sentences) + 1)]
    labels = _row_labels(sentences)
    values = [
        {"row": row, "column": column, "value": round(float(value), 3)}
        for row, line in enumerate(matrix)
        for column, value in enumerate(line)
    ]
    texts = [
        {"key": key, "label": labels[key], "number": positions[key], "text": sentence}
        for key, sentence in enumerate(sentences)
    ]
    ends = np.linspace(*bounds, STEPS).round(3).tolist()
    ink = palette(dark=dark).ink
    base = (
        # As a data frame, because Altair checks other rows one by one: half a minute for 40,000.
        alt.Chart(pd.DataFrame(values))
        # Each sentence is sent once, not with each of its cells.
        .transform_lookup("row", _texts(texts, ["label", "text"]), as_=["label", "first"])
        .transform_lookup("column", _texts(texts, ["number", "text"]), as_=["number", "second"])
        .encode(
            x=alt.X("number:N", sort=positions, title=None, axis=_axis(positions, ink)),
            y=alt.Y("label:N", sort=labels, title=None, axis=_axis(labels, ink)),
            tooltip=tips(
                ("first:N", "First"), ("second:N", "Second"), ("value:Q", title.capitalize(), ".3f")
            ),
        )
    )
    scale = alt.Scale(type="linear", domain=ends, range=colours, clamp=True, interpolate="rgb")
    bar = alt.Legend(title=None, orient="bottom", labelColor=ink, gradientLength=180)
    cells = base.mark_rect().encode(color=alt.Color("value:Q", scale=scale, legend=bar))
    words = base.mark_text(color=ink, fontSize=11).encode(text=alt.Text("value:Q", format=".2f"))
    step = max(LEAST_CELL, min(MOST_CELL, WHOLE // len(sentences)))
    return layered(
        cells,
        *[words] * (len(sentences) <= NUMBERED),
        height=step * len(sentences) + AROUND,
    )


def _texts(texts: list[dict[str, object]], fields: list[str]) -> alt.LookupData:
    return alt.LookupData(data=alt.Data(values=texts), key="key", fields=fields)


def _axis(labels: Sequence[str], ink: str) -> alt.Axis:
    """All labels of a few sentences, or about ten of many."""
    step = 1 if len(labels) <= NAMED else math.ceil(len(labels) / 10)
    return plain_axis(
        labelColor=ink, labelAngle=0, labelLimit=240, values=list(labels[step - 1 :: step])
    )


def _row_labels(sentences: Sequence[str]) -> list[str]:
    """A unique label for each sentence: its number, with the sentence if there are few."""
    if len(sentences) > NAMED:
        return [str(number) for number in range(1, len(sentences) + 1)]
    return [f"{_shortened(text)}  {number}" for number, text in enumerate(sentences, start=1)]


def _shortened(sentence: str) -> str:
    """Start and end of a sentence: minimal pairs rarely differ at the start."""
    if len(sentence) <= ROW_LABEL:
        return sentence
    half = ROW_LABEL // 2
    return f"{sentence[:half].rstrip()} … {sentence[-half:].lstrip()}"
