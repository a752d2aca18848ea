"""A table of scores with its legend and files, for any page that measures models."""

from collections.abc import Mapping, Sequence

import streamlit as st

from curation.formatting import counted
from curation.tables.spreadsheets import csv_bytes
from pages.components.shared.scores import grid
from training.benchmarks.results.paper_tables import Line, latex
from training.benchmarks.results.score_file import as_table, titles
from training.benchmarks.results.score_table import ScoreColumn, unlike_published
from training.benchmarks.results.spending import details
from training.benchmarks.tasks.own_families import Hedgerow

METRICS: Mapping[str, str] = {Hedgerow.metric: "share of anchors ranked correctly"}
"""Labels of metrics whose names are not clear enough."""

LONGEST_DATA = 28
"""Characters of a data set's name in the head of a column."""


def draw(
    made: Sequence[Line], found: Sequence[ScoreColumn], *, name: str, more: Sequence[str] = ()
) -> None:
    """Draw the table, its legend, and the buttons to download it.

    Args:
        name: the name of the files without their endings.
        more: columns before the scores, from ``spending.DETAILS``.
    """
    heads = {column.key: grid.Head(column.title, _below(column)) for column in found}
    grid.show(made, heads, more)
    legend = grid.LEGEND
    if any(line.intervals for line in made):
        legend += " Below a score: its 95% interval."
    if any(line.base for line in made):
        legend += " Next to it: the difference from the base model."
    st.caption(legend)
    _files(made, found, name=name, more=more)


def _files(
    made: Sequence[Line], found: Sequence[ScoreColumn], *, name: str, more: Sequence[str]
) -> None:
    """Draw the download buttons, and a note if published numbers are for other data."""
    note = _note(made, found)
    if note:
        st.caption(note)
    with st.container(horizontal=True):
        st.download_button(
            "CSV",
            lambda: csv_bytes(*as_table(made, found)),
            f"{name}.csv",
            "text/csv",
            key="bench-csv",
            type="tertiary",
            icon=":material/download:",
            on_click="ignore",
            help="One row per score, with its interval, data, base model, time and cost.",
        )
        st.download_button(
            "LaTeX",
            lambda: latex(
                made, titles(found), caption=note, details=_details(made, found, more)
            ).encode(),
            f"{name}.tex",
            "application/x-tex",
            key="bench-latex",
            type="tertiary",
            icon=":material/download:",
            on_click="ignore",
            help="The table above in LaTeX. It requires the booktabs package.",
        )


def _details(
    made: Sequence[Line], found: Sequence[ScoreColumn], more: Sequence[str]
) -> dict[str, list[str]]:
    """The columns before the scores: title → one text per line."""
    keys = [column.key for column in found]
    return {title: [details(line, [title], keys)[0] for line in made] for title in more}


def _note(made: Sequence[Line], found: Sequence[ScoreColumn]) -> str:
    """A note if published numbers are in columns with other data."""
    others = unlike_published(made, found)
    if not others:
        return ""
    return (
        "Published numbers are for the papers' full data. Your data for "
        f"{' and '.join(others)} may differ, so compare with care."
    )


def _below(column: ScoreColumn) -> tuple[str, ...]:
    """The lines below a column's title: metric, items, data."""
    data = column.data
    if len(data) > LONGEST_DATA:
        data = f"{data[: LONGEST_DATA - 1]}…"
    items = counted(column.n, "item") if column.n else ""
    metric = METRICS.get(column.metric, column.metric)
    return tuple(part for part in (metric, items, data) if part)
