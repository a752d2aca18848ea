"""Shared parts of the Compare page: a model's cosines, charts to save, tables of pairs."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import altair as alt
import streamlit as st

from curation.tables.spreadsheets import csv_bytes
from pages.components.shared.charts import plot, save
from pages.components.shared.formatting.decimals import decimals

DIGITS = 3
"""Decimal places of a cosine."""

DIFFERENCE = "B − A"
"""The column with the difference between two models."""

Draw = Callable[[bool], alt.Chart | alt.LayerChart]
"""Draws a chart in the colours of the dark or the light theme."""


class ComparedModel(NamedTuple):
    """One of the compared models, with its cosines."""

    letter: str
    """A or B, as in the page's tables."""
    label: str
    """As in charts."""
    cosines: Any
    """A list with one cosine per pair of the set, or a matrix of all sentences."""


def drawn(draw: Draw, *, name: str, alt_text: str) -> None:
    """A chart and the buttons that save it; the same function draws both."""
    plot.chart(draw(st.context.theme.type == "dark"), alt=alt_text)
    save.buttons(lambda: draw(False), name=name, key=f"save-{name}")


def table(rows: Sequence[tuple[Any, ...]], sides: Sequence[ComparedModel]) -> None:
    """One pair of sentences per row, with its cosine under each model."""
    table = [
        {"First": row[0], "Second": row[1]}
        | {side.letter: float(value) for side, value in zip(sides, row[2:], strict=True)}
        | ({DIFFERENCE: float(row[3] - row[2])} if len(sides) > 1 else {})
        for row in rows
    ]
    numbers = {
        column: st.column_config.NumberColumn(width="small")
        for column in (*(side.letter for side in sides), DIFFERENCE)
    }
    with st.expander("Show the numbers", icon=":material/table:"):
        st.dataframe(
            decimals(table, DIGITS, signed=[DIFFERENCE]),
            hide_index=True,
            column_config=numbers,
            height=360,
        )


def download(
    header: Sequence[str], rows: Sequence[tuple[Any, ...]], sides: Sequence[ComparedModel]
) -> None:
    """A button that downloads a table: texts, then one cosine per model."""
    names = [*header, *(f"cosine, {side.label}" for side in sides)]
    at = len(header)
    st.download_button(
        "Download CSV",
        lambda: csv_bytes(
            names, [(*row[:at], *(round(float(value), 4) for value in row[at:])) for row in rows]
        ),
        "hedgerow-compare.csv",
        "text/csv",
        key="compare-csv",
        icon=":material/download:",
        on_click="ignore",
    )
