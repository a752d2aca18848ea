"""Audit: who did what and when, newest first."""

from collections.abc import Mapping
from datetime import timedelta

import streamlit as st
from markupsafe import Markup

from curation.anchors.revisions import sources_in_use
from curation.decisions.reviewers import reviewer_names
from curation.review.audit import COLUMNS, START, Entry, Filters, Kind, Place, all_rows, page
from pages.components.shared import formatting, links, tables
from pages.components.shared.shell import open_project

SHOWN = 50
"""Entries per page."""

_ALL = ""
_PLACES, _WANTED = "audit-places", "audit-wanted"
"""Session keys: the starts of this page and the newer ones, and the filters they belong to."""


def draw() -> None:
    """Draw the section."""
    if not open_project.ask(page, Filters(), start=START, limit=1).entries:
        st.text("No actions have been recorded yet.")
        return
    types = open_project.type_names()
    wanted = _filters(types)
    if st.session_state.get(_WANTED) != wanted:
        st.session_state[_WANTED], st.session_state[_PLACES] = wanted, [START]
    places: list[Place] = st.session_state[_PLACES]
    found = open_project.ask(page, wanted, start=places[-1], limit=SHOWN)
    if found.entries:
        formatting.emit(_table(found.entries, types))
    else:
        st.text("No actions match the filters.")
    _buttons(wanted, places, found.older, empty=not found.entries)


def _filters(types: Mapping[str, str]) -> Filters:
    names = open_project.ask(reviewer_names)
    people = {str(key): name for key, name in names.items()}
    with st.container(horizontal=True, vertical_alignment="bottom", key="audit-filters"):
        who = _choice("Who", {_ALL: "Everybody"} | people)
        kind = _choice("What", {_ALL: "Everything"} | {k.value: k.value.capitalize() for k in Kind})
        type_id = _choice("Type", {_ALL: "All types", **types})
        source_id = links.source_menu(open_project.ask(sources_in_use))
        period = st.date_input("Period", value=[], key="audit-period", width=280)
        text = st.text_input("Text or uid", key="audit-text", max_chars=200, width=220)
    days = period if isinstance(period, tuple) else (period,)
    return Filters(
        reviewer_id=int(who) if who else None,
        kind=Kind(kind) if kind else None,
        type_id=type_id or None,
        source_id=source_id,
        since=formatting.midnight(days[0]) if days else None,
        until=formatting.midnight(days[1] + timedelta(days=1)) if len(days) == 2 else None,
        text=text,
    )


def _choice(label: str, options: Mapping[str, str]) -> str:
    key = f"audit-{label.lower()}"  # not in the address, which would name people
    if st.session_state.get(key, _ALL) not in options:
        st.session_state[key] = _ALL
    chosen: str = st.selectbox(
        label, list(options), format_func=lambda one: options[one], key=key, width=190
    )
    return chosen


def _buttons(wanted: Filters, places: list[Place], older: Place | None, *, empty: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="audit-pages"):
        newest = len(places) == 1
        st.button(
            "Newer", key="audit-newer", on_click=places.remove, args=(places[-1],), disabled=newest
        )
        st.button(
            "Older",
            key="audit-older",
            on_click=places.append,
            args=(older,),
            disabled=older is None,
        )
        tables.csv_button(
            lambda: (COLUMNS, open_project.ask(all_rows, wanted)),
            "hedgerow-audit",
            key="audit-csv",
            disabled=empty,
            help="All actions that match the filters, not only this page.",
        )
        st.caption(f"Page {len(places):,}, newest first. Changes to settings are not recorded.")


def _table(found: list[Entry], types: Mapping[str, str]) -> Markup:
    heads = ("When", "Variant", "What", "Who", "Type", "Card")
    rows = (
        (
            Markup("<time>{}</time>").format(f"{formatting.local(entry.at):%Y-%m-%d %H:%M}"),
            tables.sentence(entry.text),
            Markup("<b>{}</b> {}").format(entry.kind.value, tables.sentence(entry.detail)),
            entry.who,
            types.get(entry.type_id, entry.type_id),
            tables.card_link(entry.uid) if entry.uid else "",
        )
        for entry in found
    )
    return tables.sentences(heads, rows, label="Actions")
