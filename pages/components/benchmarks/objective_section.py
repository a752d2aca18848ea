"""SemAntoNeg by training objective: the paper's Figure 1, with the user's models marked."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from curation.tables.spreadsheets import csv_bytes
from pages.components.benchmarks import objective_chart
from pages.components.shared.charts import save
from pages.components.shared.formatting.decimals import decimals
from training.benchmarks.results.objectives import (
    GROUP_HEAD,
    MODEL_HEAD,
    group_rows,
    groups,
    measured_accuracies,
    model_rows,
    published_accuracies,
)
from training.benchmarks.results.queries import Scored
from training.benchmarks.tasks.semantoneg import SemAntoNeg


def draw(rows: Sequence[Scored]) -> None:
    """The figure, its groups as a table, and all models; nothing if no model is measured."""
    own = measured_accuracies(rows)
    if not own:
        return
    st.header("SemAntoNeg by training objective", anchor=False)
    published = published_accuracies()
    found, every = groups(published), [*own, *published]
    save.chart(
        partial(objective_chart.draw, found, every, chance=SemAntoNeg.chance),
        name="objectives",
        alt_text="Accuracy on SemAntoNeg by training objective, published and measured models",
    )
    st.caption(
        "Figure 1 of the SemAntoNeg paper, from its Table 8. Thin line: a published model. Bar: "
        "interquartile range of the group. Thick line: its mean. Dashed line: chance. Diamonds: "
        "models that you measured, each below the group of its objective. As in the paper, the "
        "objective is taken from the model's name. Models without one in their name come last. "
        "A model that is published under two names counts twice. Published accuracies are over "
        f"{SemAntoNeg.published_items:,} items, yours over {own[0].n:,}."
    )
    head = [name.capitalize() for name in GROUP_HEAD]
    lines = [dict(zip(head, row, strict=True)) for row in group_rows(found)]
    st.dataframe(
        decimals(lines, 1),
        hide_index=True,
        key="objective-groups",
        column_config={"Least": "Minimum", "Most": "Maximum"},
    )
    with st.expander(f"All {len(every)} models", icon=":material/table:", key="objective-all"):
        head = [name.capitalize() for name in MODEL_HEAD]
        lines = [dict(zip(head, row, strict=True)) for row in model_rows(every)]
        items = st.column_config.NumberColumn(format="localized")
        st.dataframe(
            decimals(lines, 1),
            hide_index=True,
            key="objective-models",
            column_config={"Items": items},
        )
    tables = {"Groups": (GROUP_HEAD, group_rows(found)), "Models": (MODEL_HEAD, model_rows(every))}
    with st.container(horizontal=True):
        for label, (names, cells) in tables.items():
            st.download_button(
                f"{label} (CSV)",
                csv_bytes(names, cells),
                f"hedgerow-objectives-{label.lower()}.csv",
                "text/csv",
                key=f"objective-csv-{label.lower()}",
                type="tertiary",
                icon=":material/download:",
                on_click="ignore",
            )
