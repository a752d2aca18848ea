"""The variants behind a figure of agreement, with each person's verdict."""

from collections.abc import Mapping, Sequence

import streamlit as st
from markupsafe import Markup

from curation.decisions.status import status_label
from curation.formatting import counted
from curation.review.agreement.figures import differing
from curation.review.agreement.overlap import Overlap
from curation.review.agreement.records import (
    COLUMNS,
    GivenVerdict,
    Record,
    ids_of,
    records,
    table,
)
from curation.review.browser_window.messages import reason
from curation.tables.spreadsheets import csv_bytes
from db.models import Verdict
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.diff import join
from pages.components.shared.shell import open_project
from pages.components.shared.variants.card import permalink

SHOWN = 100
"""Rows in the table. More would be slow to scroll; the CSV file has all."""

_DIFFERING, _ALL = "Disagreements", "All"
_HEADS = ("Card", "Variant", "Verdicts", "Anchor", "Type", "Status")
_DOES = {Verdict.ACCEPT: "accepts", Verdict.REJECT: "rejects", Verdict.EDIT: "edits"}


def draw(
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
        st.download_button(
            "CSV",
            lambda: csv_bytes(COLUMNS, table(open_project.ask(records, ids))),
            "hedgerow-verdicts.csv",
            "text/csv",
            key="team-csv",
            type="tertiary",
            icon=":material/download:",
            on_click="ignore",
            disabled=not ids,
            help="All verdicts on these variants, one per row.",
        )
    if ids:
        rows = open_project.ask(records, ids[:SHOWN])
        markup.show(_table(rows, labels))


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


def _table(rows: Sequence[Record], labels: Mapping[str, str]) -> Markup:
    heads = (Markup('<th scope="col">{}</th>').format(head) for head in _HEADS)
    return Markup(
        '<div class="hg-found" tabindex="0" role="region" aria-label="Variants">'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(join(heads), join(_row(row, labels) for row in rows))


def _row(row: Record, labels: Mapping[str, str]) -> Markup:
    card = Markup('<a href="{}" target="_blank" title="{}">Open</a>').format(
        permalink(row.uid), "Open the card in Review in a new tab."
    )
    cells: tuple[str | Markup, ...] = (
        card,
        _sentence(row.text),
        join(_verdict(given) for given in row.verdicts),
        Markup('<div class="hg-wide">{}</div>').format(_sentence(row.anchor)),
        labels.get(row.type_id, row.type_id),
        status_label(row.status),
    )
    return Markup("<tr>{}</tr>").format(join(Markup("<td>{}</td>").format(cell) for cell in cells))


def _verdict(given: GivenVerdict) -> Markup:
    """One line: reviewer, verdict, reason, note, and whether it is independent."""
    parts = [_DOES[given.verdict], reason(given.reason), given.note]
    if not given.independent:
        parts.append("(after seeing another verdict)")
    return Markup('<div class="hg-text" dir="auto"><b>{}</b> {}</div>').format(
        given.reviewer, " · ".join(part for part in parts if part)
    )


def _sentence(text: str) -> Markup:
    return Markup('<span class="hg-text" dir="auto">{}</span>').format(text)
