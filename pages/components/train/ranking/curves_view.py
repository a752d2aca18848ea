"""Evaluations after each epoch: Figures 5 and 8 of the NevIR paper, and the numbers."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from curation.tables.spreadsheets import csv_bytes
from db.models import Run
from pages.components.shared.charts import plot, save
from pages.components.shared.formatting.decimals import percentages
from pages.components.shared.shell import open_project
from pages.components.train.ranking import charts
from training.ranking.epochs import (
    NAMES,
    SHARES,
    EpochFigures,
    Finetuning,
    as_table,
    epochs_of,
)
from training.ranking.figures import NEVIR
from training.ranking.reranking import RERANKING, WHAT_IT_IS

Panel = Callable[[Callable[..., Any], str, str], None]
"""How to draw a chart, its file name, and its alternative text."""

_NEVIR = (
    "Share of held-out pairs in which both queries rank their own document first. Chance is "
    "25%. The band is the 95% confidence interval. Epoch 0 is the base model."
)

_DOCUMENTS = (
    "Cosine between the two documents of each held-out pair. The box shows the quartiles and "
    "median, the point shows the mean, and the line shows the range. The documents should move "
    "apart."
)


def live(run: Run) -> None:
    """The charts of a run in progress."""
    epochs = open_project.ask(epochs_of, run)
    if not epochs:
        st.caption("The base model is evaluated first, then the model after each epoch.")
        return

    def panel(draw: Callable[..., Any], name: str, alt_text: str) -> None:
        dark = st.context.theme.type == "dark"
        plot.chart(draw(dark=dark), alt=alt_text, key=f"live-{name}-{run.id}")

    _draw({f"run {run.id}": epochs}, panel, key=f"live-{run.id}")


def show(found: Sequence[Finetuning], labels: Mapping[int, str]) -> None:
    """The charts of several runs together, with save buttons, and their numbers.

    Args:
        labels: the name of each run, by its id.
    """

    def panel(draw: Callable[..., Any], name: str, alt_text: str) -> None:
        save.chart(draw, name=f"nevir-{name}", alt_text=alt_text)

    _draw({labels[run.id]: epochs for run, epochs in found}, panel, key="nevir")
    header, lines = as_table(found)
    with st.expander("Show the numbers", icon=":material/table:", key="nevir-numbers"):
        st.dataframe(
            percentages(
                [dict(zip(header, line, strict=True)) for line in lines],
                *(NAMES[name] for name in SHARES),
            ),
            hide_index=True,
        )
        st.download_button(
            "Download CSV",
            lambda: csv_bytes(header, lines),
            "hedgerow-nevir-epochs.csv",
            "text/csv",
            key="nevir-csv",
            icon=":material/download:",
            on_click="ignore",
        )


def _draw(runs: Mapping[str, Sequence[EpochFigures]], panel: Panel, *, key: str) -> None:
    with st.container(key=f"columns-{key}"):
        for name, title, help_text in (
            (NEVIR, "NevIR pairwise accuracy", _NEVIR),
            (RERANKING, "Retrieval", WHAT_IT_IS),
        ):
            with st.container():
                st.markdown(f"**{title}**")
                panel(partial(charts.curves, runs, name), name, f"{title} by epoch")
                st.caption(help_text)
    for number, (label, epochs) in enumerate(runs.items()):
        if charts.has_documents(epochs):
            st.markdown("**Similarity of the two documents of a pair**")
            st.text(label)
            panel(
                partial(charts.documents, epochs),
                f"documents-{number}",
                "Box plots of the cosine between the two documents of a held-out pair, by epoch",
            )
            st.caption(_DOCUMENTS)
