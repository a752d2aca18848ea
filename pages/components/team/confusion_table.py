"""What one of two people says where the other says what."""

from collections.abc import Sequence

import streamlit as st

from curation.review.agreement.figures import confusion, in_cell
from curation.review.agreement.overlap import VERDICTS, Overlap
from db.models import Verdict

_DOES = {Verdict.ACCEPT: "Accepts", Verdict.REJECT: "Rejects", Verdict.EDIT: "Edits"}


def draw(found: Overlap, names: Sequence[str]) -> tuple[str, Overlap]:
    """Draw it for a pair; the chosen cell in words, and its variants; '' and all without one.

    Args:
        found: narrowed to the pair.
        names: what the two are called, in the order of their ids.
    """
    one, other = names
    st.text(f"Rows: {one}. Columns: {other}. Click on a number to see its variants.")
    counts = confusion(found)
    event = st.dataframe(
        [
            {"Verdict": _DOES[mine]} | {_DOES[its]: counts.get((mine, its), 0) for its in VERDICTS}
            for mine in VERDICTS
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
            told = f"{one} {_DOES[cell[0]].lower()}, {other} {column.lower()}"
            return told, in_cell(found, cell)
    return "", found
