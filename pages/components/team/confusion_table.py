"""The confusion table of two people's verdicts."""

from collections.abc import Sequence

import streamlit as st

from curation.review.agreement.figures import confusion, in_cell
from curation.review.agreement.overlap import VERDICTS, Overlap
from db.models import Verdict

_DOES = {Verdict.ACCEPT: "Accepts", Verdict.REJECT: "Rejects", Verdict.EDIT: "Edits"}


def draw(found: Overlap, names: Sequence[str]) -> tuple[str, Overlap]:
    """Draw the table for a pair of people.

    Args:
        found: the variants of this pair.
        names: the two names, in the order of their ids.

    Returns:
        The selected cell in words and its variants; without a selection, '' and all variants.
    """
    one, other = names
    st.text(f"Rows: {one}. Columns: {other}. Click a number to see its variants.")
    counts = confusion(found)
    event = st.dataframe(
        [
            {"Verdict": _DOES[row]}
            | {_DOES[column]: counts.get((row, column), 0) for column in VERDICTS}
            for row in VERDICTS
        ],
        hide_index=True,
        key="team-confusion",
        on_select="rerun",
        selection_mode="single-cell",
        width="content",
        column_config={
            name: st.column_config.NumberColumn(format="localized") for name in _DOES.values()
        },
    )
    columns = {name: verdict for verdict, name in _DOES.items()}
    for row, column in event.selection.cells:
        if column in columns and row < len(VERDICTS):
            cell = (VERDICTS[row], columns[column])
            in_words = f"{one} {_DOES[cell[0]].lower()}, {other} {column.lower()}"
            return in_words, in_cell(found, cell)
    return "", found
