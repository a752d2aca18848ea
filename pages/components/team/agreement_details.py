"""Behind a figure of agreement: two people's confusion table, and the variants."""

from collections.abc import Mapping, Sequence

import streamlit as st
from markupsafe import Markup

from curation.decisions.status import status_label
from curation.formatting import counted
from curation.review.agreement.figures import confusion, differing, in_cell
from curation.review.agreement.overlap import VERDICTS, Overlap
from curation.review.agreement.records import COLUMNS, GivenVerdict, ids_of, records, table
from curation.review.browser_window.messages import reason
from db.models import Verdict
from pages.components.shared import formatting, tables
from pages.components.shared.shell import open_project

SHOWN = 100
"""Rows in the table. More would be slow to scroll; the CSV file has all."""

_DIFFERING, _ALL = "Disagreements", "All"
_HEADS = ("Card", "Variant", "Verdicts", "Anchor", "Type", "Status")


def record_list(
    found: Overlap, filters: Sequence[str], labels: Mapping[str, str], *, filtered: bool
) -> None:
    """Draw the first variants, and offer all of them as a file.

    Args:
        filters: the chosen group and cell, in words.
        labels: the names of the types.
        filtered: whether they were already chosen by their verdicts.
    """
    st.header("Variants", anchor=False)
    shows_all = filtered or _wants_all()
    ids = ids_of(found if shows_all else differing(found))
    with st.container(horizontal=True, vertical_alignment="center", key="team-found"):
        st.text(_in_words(len(ids), filters, of=None if shows_all else found.variants))
        tables.csv_button(
            lambda: (COLUMNS, table(open_project.ask(records, ids))),
            "hedgerow-verdicts",
            key="team-csv",
            disabled=not ids,
            help="All verdicts on these variants, one per row.",
        )
    if ids:
        rows = open_project.ask(records, ids[:SHOWN])
        cells = (
            (
                tables.card_link(row.uid),
                tables.sentence(row.text),
                formatting.join(_verdict(given) for given in row.verdicts),
                Markup('<div class="hg-wide">{}</div>').format(tables.sentence(row.anchor)),
                labels.get(row.type_id, row.type_id),
                status_label(row.status),
            )
            for row in rows
        )
        formatting.emit(tables.sentences(_HEADS, cells))


def _wants_all() -> bool:
    chosen = st.segmented_control(
        "Which variants",
        [_DIFFERING, _ALL],
        key="team-which",
        default=_DIFFERING,
        required=True,
        bind="query-params",
        label_visibility="collapsed",
    )
    return chosen == _ALL


def _in_words(number: int, filters: Sequence[str], *, of: int | None) -> str:
    what = f"{': ' if filters else ''}{'; '.join(filters)}"
    shown = f" The table has the first {SHOWN}." if number > SHOWN else ""
    if of is None:
        return f"{counted(number, 'variant')}{what}.{shown}"
    return f"The verdicts disagree on {number:,} of {counted(of, 'variant')}{what}.{shown}"


def _verdict(given: GivenVerdict) -> Markup:
    """One line: reviewer, verdict, reason, note, and whether it is independent."""
    parts = [_DOES[given.verdict].lower(), reason(given.reason), given.note]
    if not given.independent:
        parts.append("(after seeing another verdict)")
    return Markup('<div class="hg-text" dir="auto"><b>{}</b> {}</div>').format(
        given.reviewer, " · ".join(part for part in parts if part)
    )


# -- The confusion table of two people's verdicts -------------------------------------------------


_DOES = {Verdict.ACCEPT: "Accepts", Verdict.REJECT: "Rejects", Verdict.EDIT: "Edits"}


def pick_cell(found: Overlap, names: Sequence[str]) -> tuple[str, Overlap]:
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
        column_config=tables.counts(_DOES.values()),
    )
    columns = {name: verdict for verdict, name in _DOES.items()}
    for row, column in event.selection.cells:
        if column in columns and row < len(VERDICTS):
            cell = (VERDICTS[row], columns[column])
            in_words = f"{one} {_DOES[cell[0]].lower()}, {other} {column.lower()}"
            return in_words, in_cell(found, cell)
    return "", found
