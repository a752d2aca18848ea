"""Shared errors: the items that all models, or most of them, get wrong."""

from collections.abc import Sequence

import streamlit as st

from curation.formatting import counted
from curation.tables.spreadsheets import csv_bytes
from db.errors import HedgerowError
from pages.components.benchmarks.items.single import LABELS
from pages.components.benchmarks.names import BREAKDOWNS
from pages.components.shared.shell import error_messages, open_project
from training.benchmarks.definition import Result
from training.benchmarks.results.common_errors import CommonErrors, common_errors, error_table
from training.benchmarks.results.queries import Scored, full_result

MOST_MODELS = 12
"""Models that are chosen by default."""

SHOWN = 200
"""Most items in the list; the file has all."""


def draw(rows: Sequence[Scored]) -> None:
    """The models, the smallest number of wrong ones, the items, and the parts they belong to.

    Args:
        rows: all results on the same items of a benchmark with right and wrong items.
    """
    if len(rows) < 2:
        return
    st.header("Shared errors", anchor=False)
    by_title = {row.title: row for row in rows}
    column = rows[0].column
    with st.container(horizontal=True, vertical_alignment="bottom", key="bench-common"):
        chosen = st.multiselect(
            "Models",
            list(by_title),
            default=list(by_title)[:MOST_MODELS],
            key=f"bench-common-models-{column}-{len(rows)}",
            placeholder="Choose at least two models",
        )
        if len(chosen) < 2:
            st.text("Choose at least two models.")
            return
        least = st.number_input(
            "Wrong in at least",
            1,
            len(chosen),
            len(chosen),
            key=f"bench-common-least-{column}-{len(chosen)}",
            help="The smallest number of these models that get the item wrong.",
            width=170,
        )
    try:
        with st.spinner("Reading the results."):
            results = {title: _result(by_title[title]) for title in chosen}
        found = common_errors(results, least=int(least))
    except HedgerowError as error:
        error_messages.show(str(error), key="bench-common")
        return
    _show(found)


def _result(row: Scored) -> Result:
    return full_result(open_project.settings().data_folder, row)


def _show(found: CommonErrors) -> None:
    number = counted(len(found.errors), "item")
    shown = f"; the list shows the first {SHOWN}" if len(found.errors) > SHOWN else ""
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.text(
            f"{number} of {found.items:,} wrong in at least {found.least} of {len(found.models)} "
            f"models{shown}.",
            width="content",
        )
        st.download_button(
            "CSV",
            lambda: csv_bytes(*error_table(found)),
            "hedgerow-common-errors.csv",
            "text/csv",
            key="bench-common-csv",
            type="tertiary",
            icon=":material/download:",
            on_click="ignore",
            disabled=not found.errors,
        )
    if not found.errors:
        return
    st.dataframe(
        [
            {
                "Item": error.row.key,
                "Models wrong": len(error.wrong),
                **{LABELS.get(name, name): text for name, text in error.row.texts.items()},
            }
            for error in found.errors[:SHOWN]
        ],
        hide_index=True,
        key="bench-common-items",
        height="auto" if len(found.errors) < 11 else 400,
    )
    parts = [part for part in found.parts if part.breakdown in BREAKDOWNS]
    if parts:
        st.dataframe(
            [{"Part": part.part, "Errors": part.errors, "Items": part.items} for part in parts],
            hide_index=True,
            key="bench-common-parts",
            height="auto" if len(parts) < 9 else 320,
        )
        st.caption("How many items of each part are among these errors.")
