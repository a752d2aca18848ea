"""The variants behind a figure of agreement, with what each person says of them."""

from collections.abc import Mapping, Sequence

import streamlit as st
from markupsafe import Markup

from curation.plurals import counted
from curation.release.export.file_formats import csv_bytes
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
from curation.review.status import status_label
from db.models import Verdict
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.diff import join
from pages.components.shared.shell import open_project
from pages.components.shared.variants.card import permalink

SHOWN = 100
"""Rows of the table; more are slow to scroll and are not read. The file has all."""

_DIFFERING, _ALL = "Disagreements", "All"
_HEADS = ("Card", "Variant", "Anchor", "Type", "Status", "Verdicts")
_SAYS = {Verdict.ACCEPT: "accepts", Verdict.REJECT: "rejects", Verdict.EDIT: "edits"}


def draw(found: Overlap, told: Sequence[str], labels: Mapping[str, str], *, filtered: bool) -> None:
    """Draw the first of them, and offer all as a file.

    Args:
        told: what they have in common, in words.
        labels: what the types are called.
        filtered: they were chosen by their verdicts already.
    """
    st.header("Variants", anchor=False)
    everything = filtered or _wants_all()
    ids = ids_of(found if everything else differing(found))
    with st.container(horizontal=True, vertical_alignment="center", key="team-found"):
        st.text(_in_words(len(ids), told, of=None if everything else found.variants))
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
            help="One row a verdict, of all these variants.",
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


def _in_words(number: int, told: Sequence[str], *, of: int | None) -> str:
    what = f"{': ' if told else ''}{'; '.join(told)}"
    shown = f" The table has the first {SHOWN}." if number > SHOWN else ""
    if of is None:
        return f"{counted(number, 'variant')}{what}.{shown}"
    return f"{number:,} of {counted(of, 'variant')} with different verdicts{what}.{shown}"


def _table(rows: Sequence[Record], labels: Mapping[str, str]) -> Markup:
    heads = (Markup('<th scope="col">{}</th>').format(head) for head in _HEADS)
    return Markup(
        '<div class="hg-found" tabindex="0" role="region" aria-label="Variants">'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(join(heads), join(_row(row, labels) for row in rows))


def _row(row: Record, labels: Mapping[str, str]) -> Markup:
    card = Markup('<a href="{}" target="_blank" title="{}">Open</a>').format(
        permalink(row.uid), "The variant on its card in Review, in another tab."
    )
    cells: tuple[str | Markup, ...] = (
        card,
        _sentence(row.text),
        _sentence(row.anchor),
        labels.get(row.type_id, row.type_id),
        status_label(row.status),
        Markup('<div class="hg-verdicts">{}</div>').format(
            join(_verdict(given) for given in row.verdicts)
        ),
    )
    return Markup("<tr>{}</tr>").format(join(Markup("<td>{}</td>").format(cell) for cell in cells))


def _verdict(given: GivenVerdict) -> Markup:
    """A line: who, what, why, and whether they knew of another verdict."""
    said = [_SAYS[given.verdict], reason(given.reason), given.note]
    if not given.independent:
        said.append("(after seeing another verdict)")
    return Markup('<div class="hg-text" dir="auto"><b>{}</b> {}</div>').format(
        given.reviewer, " · ".join(part for part in said if part)
    )


def _sentence(text: str) -> Markup:
    return Markup('<span class="hg-text" dir="auto">{}</span>').format(text)
