"""Browse the anchors: search, filters, the list and the selected anchor."""

from collections.abc import Sequence

import streamlit as st

from curation.anchors.lookup import (
    AnchorFilter,
    AnchorPage,
    FilterChoices,
    filter_choices,
    page_of_anchors,
)
from curation.formatting import counted
from db.models import Split
from pages.components.anchors import picked_anchors
from pages.components.shared import links
from pages.components.shared.shell import open_project

PAGE = 100
"""Anchors per page."""

_SHOW = ("In use", "Without variants", "Retired")
_PAGE_KEY = "anchors-page"
_CHANGED, _DROPPED = "anchors-list-changed", "anchors-tick-dropped"


def browser(reviewer_id: int | None) -> None:
    """Show the anchors and the actions on the selected ones.

    Args:
        reviewer_id: the signed-in reviewer; None asks for a name when one is needed.
    """
    choices = open_project.ask(filter_choices)
    if not choices.sources:
        links.no_anchors()
        return
    wanted = _filters(choices)
    if st.session_state.get("anchors-wanted") != wanted:
        st.session_state["anchors-wanted"] = wanted
        st.session_state.pop(_PAGE_KEY, None)
    number = int(st.session_state.get(_PAGE_KEY, 1))
    there, found = open_project.ask(page_of_anchors, wanted, number=number, size=PAGE)
    if there != number:  # the only anchor on the last page was retired
        number = st.session_state[_PAGE_KEY] = there
    picked = _picked(found)
    _list(found, wanted, number, picked)
    picked_anchors.show_result()
    if len(picked) > 1:
        picked_anchors.draw_several(
            [anchor for anchor in found.anchors if anchor.uid in picked], reviewer_id
        )
    elif picked:
        picked_anchors.draw_one(picked[0], reviewer_id)
    elif found.anchors:
        st.caption(
            "Select an anchor to see its variants or correct it. Select several to retire them "
            "or set their genre and language together."
        )


def _picked(found: AnchorPage) -> list[str]:
    """The uids in the URL; of several, only those in the list, so that nobody changes unseen ones.

    A single uid is shown even if the list does not include it, so that links work, until you change
    the list.
    """
    address = st.query_params.get(links.ANCHOR, "")
    uids = [uid for uid in address.split(",") if uid]
    # The browser may send the old URL once more after an anchor was deselected.
    changed = st.session_state.pop(_CHANGED, False) or address == st.session_state.get(_DROPPED)
    if not changed and len(uids) < 2:
        return uids
    listed = {anchor.uid for anchor in found.anchors}
    shown = [uid for uid in uids if uid in listed]
    st.session_state[_DROPPED] = None if shown == uids else address
    _keep(shown)
    return shown


def _filters(choices: FilterChoices) -> AnchorFilter:
    row = st.container(horizontal=True, key="filters-anchors")
    text = row.text_input(
        "Search",
        key="search",
        bind="query-params",
        placeholder="Part of a sentence, or a uid",
        on_change=_changed,
    )
    source, genre, split = (
        row.selectbox(
            label,
            options,
            index=None,
            key=f"anchors-{label.lower()}",  # other pages use the key "source"
            placeholder="All",
            on_change=_changed,
        )
        for label, options in (
            ("Source", choices.sources),
            ("Genre", choices.genres),
            ("Split", [split.value for split in Split]),
        )
    )
    show = st.segmented_control(
        "Show",
        _SHOW,
        key="show",
        default=_SHOW[0],
        required=True,
        bind="query-params",
        label_visibility="collapsed",
        on_change=_changed,
    )
    return AnchorFilter(
        text=text.strip(),
        source=source or "",
        genre=genre or "",
        split=Split(split) if split else None,
        retired=show == "Retired",
        without_variants=show == "Without variants",
    )


def _changed() -> None:
    """Note that the list changes and may no longer show the selected anchor."""
    st.session_state[_CHANGED] = True


def _list(found: AnchorPage, wanted: AnchorFilter, number: int, picked: Sequence[str]) -> None:
    if not found.total:
        st.text("No anchor matches. Change the search or a filter.")
        return
    pages = -(-found.total // PAGE)
    with st.container(horizontal=True, vertical_alignment="center", key="anchors-found"):
        st.text(_range(found, number))
        if pages > 1:
            st.pagination(pages, key=_PAGE_KEY, on_change=_changed)
    # Streamlit keeps the selection by row number. A separate key for each list of anchors, even for
    # the same list minus one anchor, makes the selection follow the anchors in the URL.
    uids = [anchor.uid for anchor in found.anchors]
    key = f"anchors-{abs(hash((wanted, number, *uids)))}"
    rows = [at for at, uid in enumerate(uids) if uid in picked]
    corrected = any(anchor.revision > 1 for anchor in found.anchors)
    st.dataframe(
        [
            {
                "Anchor": anchor.text,
                "Variants": anchor.variants,
                "Genre": anchor.genre,
                "Source": anchor.source,
                "Split": anchor.split.value,
            }
            | ({"Revision": anchor.revision} if corrected else {})
            for anchor in found.anchors
        ],
        hide_index=True,
        key=key,
        selection_mode="multi-row",
        on_select=lambda: _pick(key, uids),
        selection_default={"selection": {"rows": rows, "columns": [], "cells": []}},
        column_config={
            "Anchor": st.column_config.TextColumn(width="large"),
            "Variants": st.column_config.NumberColumn(width="small"),
        },
    )


def _range(found: AnchorPage, number: int) -> str:
    first = (number - 1) * PAGE + 1
    total = counted(found.total, "anchor")
    if found.total <= PAGE:
        return f"{total}."
    return f"{total}; showing {first:,} to {first + len(found.anchors) - 1:,}."


def _pick(key: str, uids: Sequence[str]) -> None:
    """Keep the selected rows in the URL."""
    _keep([uids[row] for row in st.session_state[key].selection.rows if row < len(uids)])


def _keep(uids: Sequence[str]) -> None:
    if uids:
        st.query_params[links.ANCHOR] = ",".join(uids)
    else:
        st.query_params.pop(links.ANCHOR, None)
