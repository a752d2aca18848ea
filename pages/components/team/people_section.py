"""People: what each of them decides, how fast, and how far it is right. For leads."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from curation.release.export.file_formats import csv_bytes
from curation.review.agreement.interpretation import as_text
from curation.review.agreement.overlap import overlap
from curation.review.people.statistics import (
    COLUMNS,
    PersonFigures,
    Share,
    overlapping,
    person_figures,
    table,
)
from pages.components.shared.shell import open_project
from pages.components.shared.shell.count_cache import CachedCounts
from pages.components.shared.variants import empty_state
from pages.components.team.lead_only import lead

_HELP = {
    "Decisions": "Verdicts on single variants that stand. Settlements and decisions by rule are "
    "left out.",
    "Median seconds": "From the showing of a card to the decision. Longer than five minutes was a "
    "break and is left out.",
    "Accepted": "How many of the decisions accept, with the exact 95% interval of the share.",
    "Gold": "Verdicts on gold items that match what is known to be right. An edit counts as a "
    "rejection.",
    "Settled": "Their last verdicts before somebody else settled the variant: how many match.",
    "Practice": "The last practice round.",
    "Shared": "Variants that somebody else has decided on, too.",
}


def draw() -> None:
    """The whole section."""
    if lead("see the figures of each person") is None:
        return
    counts = CachedCounts()
    if counts.empty:
        empty_state.box()
        return
    found, shared = counts.get(person_figures), counts.get(overlap)
    if found is None or shared is None:
        st.text("Counting. In a large project this takes some seconds.")
    elif not found:
        with st.container(border=True, key="empty"):
            st.write("Nobody has decided on anything yet.")
            st.page_link("pages/review.py", label="Review variants", icon=":material/rate_review:")
    else:
        _people(found, overlapping(shared))
    counts.follow()


def _people(found: Sequence[PersonFigures], shared: Mapping[int, int]) -> None:
    st.dataframe(
        [_row(one, shared.get(one.reviewer_id, 0)) for one in found],
        hide_index=True,
        key="people-figures",
        height="content",
        column_config={
            name: (
                st.column_config.NumberColumn(help=text, format="localized")
                if name in ("Decisions", "Shared")
                else st.column_config.Column(help=text)
            )
            for name, text in _HELP.items()
        },
    )
    st.caption(
        "With few decisions the intervals are wide: people whose intervals overlap may be equally "
        "good. Some cards are harder than others; gold items are the same for everybody."
    )
    st.header("Accepted, by type", anchor=False)
    st.dataframe(_by_type(found), key="people-types", height="content")
    st.download_button(
        "CSV",
        lambda: csv_bytes(COLUMNS, table(found, shared)),
        "hedgerow-people.csv",
        "text/csv",
        key="people-csv",
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
        help="A row for each person and type, with all figures.",
    )


def _row(one: PersonFigures, shared: int) -> dict[str, str | int | None]:
    practised = f"{one.practice.right} of {one.practice.answered}"
    return {
        "Name": one.name,
        "Decisions": one.decisions,
        "Median seconds": "–" if one.seconds is None else f"{one.seconds:.1f}",
        "Accepted": _share(one.acceptance),
        "Gold": _share(one.gold, with_counts=True),
        "Settled": _share(one.adjudicated, with_counts=True),
        "Practice": practised if one.practice_round else "–",
        "Shared": shared,
    }


def _by_type(found: Sequence[PersonFigures]) -> pd.DataFrame:
    """A row for each type, a column for each person."""
    names = open_project.type_names()
    there = [key for key in names if any(key in one.accepted for one in found)]
    return pd.DataFrame(
        {
            one.name: [_share(one.accepted.get(key, Share()), with_counts=True) for key in there]
            for one in found
        },
        index=pd.Index([names[key] for key in there], name="Type"),
    )


def _share(share: Share, *, with_counts: bool = False) -> str:
    """'91% (62% to 100%)', with counts '11 of 12, …'; a dash where there is nothing."""
    if not share.of:
        return "–"
    text = as_text(share.estimate(), as_percent=True)
    return f"{share.number:,} of {share.of:,}, {text}" if with_counts else text
