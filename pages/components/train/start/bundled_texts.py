"""The bundled retention texts, as a searchable table."""

import pandas as pd
import streamlit as st

from curation.tables.spreadsheets import csv_bytes
from training.retention.bundled_texts import BundledText, bundled_texts
from training.retention.documents import documents
from training.retention.topics import topics

_COLUMNS = ("Group", "Kind", "Text")

HEIGHT, ROW_HEIGHT = 478, 88
"""Height in pixels of the table, which draws only visible rows, and of a row with four lines: the
longest text has as many."""


def draw() -> None:
    """The expander; the texts are sent to the browser when it is opened."""
    box = st.expander(
        "Retention texts",
        icon=":material/anchor:",
        key="train-bundled-texts",
        on_change="rerun",
    )
    if not box.open:
        return
    with box:
        _texts()


def _texts() -> None:
    st.text(
        "An encoder that is trained on negation alone forgets other things. To prevent that, "
        "training keeps the embeddings of unrelated texts, and their similarities, close to "
        "the base encoder's. These texts teach nothing about negation: they have no negated "
        "variants, and nothing pushes them apart."
    )
    st.text(
        f"Hedgerow comes with {len(bundled_texts()):,} English texts, written by a language "
        f"model: sentences on {len(topics()):,} topics, and {len(documents()):,} documents, "
        "each with a title, a passage, two questions, a query and a description of what a "
        "reader is looking for. The anchors of the release are used in the same way."
    )
    st.dataframe(
        _table(),
        hide_index=True,
        key="train-bundled-table",
        height=HEIGHT,
        row_height=ROW_HEIGHT,
        column_config={
            "Group": st.column_config.TextColumn(width=110),
            "Kind": st.column_config.TextColumn(width=120),
            "Text": st.column_config.TextColumn(width=820),
        },
    )
    st.caption("To search, use the magnifying glass above the table.")
    st.download_button(
        "CSV",
        lambda: csv_bytes(BundledText._fields, bundled_texts()),
        "hedgerow-bundled-texts.csv",
        "text/csv",
        key="train-bundled-csv",
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
        help="Download all texts.",
    )


@st.cache_resource(show_spinner=False)
def _table() -> pd.DataFrame:
    return pd.DataFrame(bundled_texts(), columns=_COLUMNS)
