"""Preview of a file: what happens to its rows, why, and how long they are."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import altair as alt
import streamlit as st

from curation.anchors.checks import LABELS
from curation.formatting import counted
from curation.importing.anchor_preview import FileRow, Preview, RowStatus
from curation.importing.anchors import candidates as likely_columns
from curation.importing.labels import LabelledTable
from curation.importing.sample import LONG, PAPER_LONG, PAPER_SHORT, SHORT, Lengths, lengths
from curation.tables.columns import FileTable
from pages.components.shared import tables
from pages.components.shared.charts import grammar, plot
from pages.components.shared.charts.palette import palette

STATUSES = {
    RowStatus.NEW: "New",
    RowStatus.SUSPICIOUS: "Suspicious",
    RowStatus.DUPLICATE: "Duplicate",
    RowStatus.IMPOSSIBLE: "Left out",
}
ADD = "Add"
ALL = "all"
A_PAGE = 50
"""Rows per page."""

_SHOWN = 300
"""Maximum number of characters in a cell."""

_HEIGHT = 260
"""Height in pixels, including axis and legend."""


def anchors(count: int) -> str:
    return counted(count, "anchor")


def draw(shown: Preview, table: FileTable, *, key: str) -> set[int]:
    """Show the counts as a choice, and one page of the chosen rows.

    Returns:
        The lines of the suspicious rows that were ticked.
    """
    ticked: set[int] = st.session_state.setdefault(f"anchors-ticked-{key}", set())
    counts = {ALL: len(shown.rows)} | {status: shown.statuses[status] for status in STATUSES}
    place = st.container(horizontal=True, vertical_alignment="center")
    chosen = place.segmented_control(
        "Rows",
        [name for name in counts if counts[name] or name == RowStatus.NEW],
        default=ALL,
        required=True,
        key=f"anchors-status-{key}",
        label_visibility="collapsed",
        format_func=lambda name: f"{STATUSES.get(name, 'All rows')} {counts[name]:,}",
    )
    rows = shown.rows if chosen == ALL else shown.with_status(RowStatus(chosen))
    reason = None
    if chosen == RowStatus.SUSPICIOUS:
        found = Counter(finding.reason for row in rows for finding in row.findings)
        reason = place.selectbox(
            "Reason",
            [None, *found],
            format_func=lambda one: f"{LABELS[one]} ({found[one]:,})" if one else "All reasons",
            key=f"anchors-reason-{key}",
            label_visibility="collapsed",
            width=280,
        )
        if reason:
            rows = [row for row in rows if any(one.reason is reason for one in row.findings)]
    ticks = ticked if chosen == RowStatus.SUSPICIOUS else None
    _page(rows, table, ticks, key=f"{key}-{chosen}-{reason}")
    return ticked


def candidates(table: LabelledTable) -> None:
    """The columns that may contain the sentences, with some of their texts."""
    st.text("No name shows which column has the sentences. Choose one above.")
    st.dataframe(
        [
            {"Column": column, **{f"Example {n}": text for n, text in enumerate(texts, 1)}}
            for column, texts in likely_columns(table).items()
        ],
        hide_index=True,
        key="anchors-candidates",
    )


def reasons(shown: Preview, *, key: str) -> None:
    """Count the problems of rows; a row can have several."""
    if not shown.reasons:
        return
    st.dataframe(
        [{"Problems": LABELS[r], "Rows": n} for r, n in shown.reasons.items()],
        hide_index=True,
        key=f"anchors-reasons-{key}",
        column_config=tables.counts(["Rows"], width="small"),
    )


def _page(rows: Sequence[FileRow], table: FileTable, ticked: set[int] | None, *, key: str) -> None:
    pages = max(1, -(-len(rows) // A_PAGE))
    number = 1
    if pages > 1:
        with st.container(horizontal=True, vertical_alignment="center"):
            number = st.number_input(
                "Page",
                1,
                pages,
                key=f"anchors-page-{key}",
                width=140,
                label_visibility="collapsed",
            )
            first = (number - 1) * A_PAGE
            last = min(first + A_PAGE, len(rows))
            st.caption(f"Rows {first + 1:,} to {last:,} of {len(rows):,}")
    place = table.unit.capitalize()
    part = rows[(number - 1) * A_PAGE : number * A_PAGE]
    cells = [
        ({} if ticked is None else {ADD: row.line in ticked})
        | {
            place: row.line,
            "Result": STATUSES[row.status],
            "Text": row.text if len(row.text) <= _SHOWN else f"{row.text[:_SHOWN]}…",
            "Why": " ".join(finding.sentence for finding in row.findings),
        }
        for row in part
    ]
    kept: Any = {
        "hide_index": True,
        "height": "auto" if len(rows) < 8 else 320,
        "column_config": {
            ADD: st.column_config.CheckboxColumn(width=70, pinned=True),
            place: st.column_config.NumberColumn(width=60, pinned=True, format="localized"),
            "Text": st.column_config.TextColumn(width="medium"),
            "Result": st.column_config.TextColumn(width=90),
            "Why": st.column_config.TextColumn(width="medium"),
        },
    }
    if ticked is None:
        st.dataframe(cells, key=f"anchors-rows-{key}", **kept)
        return
    fixed = [place, "Result", "Text", "Why"]
    edited = st.data_editor(cells, key=f"anchors-ticks-{key}-{number}", disabled=fixed, **kept)
    for row, cell in zip(part, edited, strict=True):
        (ticked.add if cell[ADD] else ticked.discard)(row.line)


def lengths_chart(rows: Sequence[FileRow]) -> None:
    """Compare the lengths of the new anchors with the paper's."""
    if not rows:
        return
    found = lengths(row.text for row in rows)
    plot.chart(partial(chart, found), width="stretch", key="anchors-lengths", alt=in_words(found))
    st.caption(in_words(found))


def in_words(found: Lengths) -> str:
    return (
        f"{found.share(found.short):.0%} of these anchors have fewer than {SHORT} words (about "
        f"half in the paper), and {found.share(found.long):.0%} have more than {LONG} (about a "
        f"tenth in the paper). The median length is {counted(found.median, 'word')}."
    )


def chart(found: Lengths, *, dark: bool) -> alt.Chart:
    """Share of anchors in three length bands, next to the paper's."""
    colours = palette(dark=dark)
    bands = [f"fewer than {SHORT} words", f"{SHORT} to {LONG}", f"more than {LONG}"]
    shares = {
        "these anchors": [found.share(n) for n in (found.short, found.middle, found.long)],
        "the paper": [PAPER_SHORT, 1 - PAPER_SHORT - PAPER_LONG, PAPER_LONG],
    }
    table = [
        {"band": band, "of": name, "share": share}
        for name, values in shares.items()
        for band, share in zip(bands, values, strict=True)
    ]
    above = alt.Legend(title=None, orient="top")
    axis = alt.Axis(labelLimit=200, ticks=False, labelOverlap=False)
    return (
        alt.Chart(alt.Data(values=table))
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title=None, axis=alt.Axis(format=".0%", tickCount=6)),
            y=alt.Y("band:N", sort=bands, title=None, axis=axis),
            yOffset=alt.YOffset("of:N", sort=list(shares)),
            color=grammar.colours_of("of:N", list(shares), [colours.after, colours.before], above),
            tooltip=grammar.tips(
                ("of:N", "Anchors"), ("band:N", "Length"), ("share:Q", "Share", ".1%")
            ),
        )
        .properties(height=_HEIGHT)
    )
