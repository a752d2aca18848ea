"""The agreement of a model's second opinions with people, as a table by type."""

import streamlit as st

from curation.diagnostics.opinion_agreement import agreement, together
from pages.components.shared.shell import open_project
from pages.components.shared.shell.count_cache import CachedCounts

_HELP = {
    "Pairs": "A variant with a person's verdict and the model's verdict, both for the same text of "
    "the anchor.",
    "Agree": "Share of the pairs in which both accept the variant unchanged, or neither does.",
    "Kappa": "Cohen's kappa: 0 is chance agreement, 1 is full agreement.",
    "Left out": "Verdicts of people who had seen the model's opinion first.",
}


def draw(counts: CachedCounts, reviewer_id: int, *, key: str) -> None:
    """Draw the table, or a note if nobody has decided on the same variants yet."""
    rows = counts.get(agreement, reviewer_id)
    if rows is None:
        return
    if not rows:
        st.text("Nobody has decided on a variant that it has judged yet.")
        return
    labels = {entry.id: entry.label for entry in open_project.types()}
    st.dataframe(
        [
            {
                "Type": labels.get(row.type_id, row.type_id),
                "Pairs": row.pairs,
                "Agree": None if row.share is None else 100 * row.share,
                "Kappa": row.kappa,
                "Only the model accepts": row.model_only,
                "Only the person accepts": row.person_only,
                "Left out": row.after_looking,
            }
            for row in (*rows, together(rows)._replace(type_id="All types"))
        ],
        hide_index=True,
        key=key,
        width="content",
        column_config={
            "Pairs": st.column_config.NumberColumn(format="localized", help=_HELP["Pairs"]),
            "Agree": st.column_config.NumberColumn(format="%.1f%%", help=_HELP["Agree"]),
            "Kappa": st.column_config.NumberColumn(format="%.2f", help=_HELP["Kappa"]),
            "Left out": st.column_config.NumberColumn(format="localized", help=_HELP["Left out"]),
        },
    )
