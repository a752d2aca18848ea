"""Links between pages: picked variants, the source, and what a page without data offers."""

from collections.abc import Mapping, Sequence
from secrets import token_urlsafe
from typing import Any
from urllib.parse import quote

import streamlit as st

from curation.generation.request import Which
from curation.review.browser_window.selection import VariantSelection
from curation.review.queue import Queue
from curation.taxonomy.surface_check import Role
from pages.components.shared.formatting import plain

GENERATE_WHICH, GENERATE_SOURCE = "generate-which", "generate-source"
GENERATE_ROLES, GENERATE_TYPES = "generate-roles", "generate-types"
"""Keys of the fields on the Generate page."""

GENERATE_SECTION, SET_UP = "step", "Set up"
"""URL parameter of the Generate page, and its section for setting up a run."""

ANCHOR = "anchor"
"""URL parameter of the Anchors page with the uids of the picked anchors."""

QUEUES = {
    Queue.PENDING: "Pending",
    Queue.CONFLICT: "In conflict",
    Queue.MODEL_ONLY: "Accepted by a model only",
    Queue.SECOND_LOOK: "Second look",
}
"""Names of the queues on the Review page and in its URL."""

ALL_TYPES = "All types"
ALL_SOURCES = "All sources"

QUEUE_SOURCE = "queue-source"
"""URL parameter of the Review page with the source. It differs from the key in `source_menu`: the
menu of the page that the user leaves would override the URL of the next page."""

SECTION = "show"
"""URL parameter of the Team page with its section."""
GOLD, PEOPLE, PRACTICE = "Gold items", "People", "Practice"
"""Sections of the Team page that other pages or sections link to."""
GOLD_UID = "gold"
"""URL parameter of the Team page with the uid of a variant to make a gold item."""


def make_gold(uid: str) -> str:
    """The URL for making a variant a gold item, relative to the app's."""
    return f"team?{SECTION}={quote(GOLD)}&{GOLD_UID}={quote(uid, safe='')}"


def to_generate(
    which: Which,
    *,
    source: str | None = None,
    roles: Sequence[Role] = (),
    types: Sequence[str] = (),
) -> None:
    """Switch to the Generate page, set up for these anchors, roles and types."""
    state = st.session_state
    state[GENERATE_WHICH] = which
    if source is not None:
        state[GENERATE_SOURCE] = source
    if roles:
        state[GENERATE_ROLES] = list(roles)
    if types:
        state[GENERATE_TYPES] = list(types)
    # Without parameters, Streamlit refuses to leave a page whose widgets are in the URL.
    st.switch_page("pages/generate.py", query_params={GENERATE_SECTION: SET_UP})


def anchor(uid: str) -> str:
    """The URL of the Anchors page with this anchor picked, relative to the app's."""
    return f"anchors?{ANCHOR}={quote(uid, safe='')}"


def permalink(uid: str) -> str:
    """The URL of a variant's card, relative to the app's."""
    return f"review?variant={quote(uid, safe='')}"


def to_review(
    label: str, *, queue: Queue | None = None, source: str | None = None, **more: Any
) -> None:
    """Draw a link to the Review page.

    Args:
        queue: open this queue with all types; None continues where the reviewer left off.
        source: the name of a source to review; None keeps the current choice.
    """
    address = {} if queue is None else {"queue": QUEUES[queue], "type": ALL_TYPES}
    if source is not None:
        address[QUEUE_SOURCE] = plain(source)
    st.page_link("pages/review.py", label=label, query_params=address, **more)


# -- Variants picked on another page, for review one after the other ------------------------------


_KEPT = 50
"""Maximum number of selections kept for reloads; the oldest is dropped first."""

SELECTION = "selection"
"""URL parameter with the name of a selection, which keeps it across reloads."""


@st.cache_resource(show_spinner=False)
def _kept() -> dict[str, VariantSelection]:
    """The latest selections by their names in the URL, for all sessions of this server."""
    return {}


def open_in_review(variant_ids: Sequence[int], description: str) -> None:
    """Switch to the Review page, which shows these variants in this order.

    Args:
        variant_ids: database ids; repeated ones count once.
        description: where they come from, in a few words; shown as plain text.
    """
    kept = _kept()
    name = token_urlsafe(6)
    kept[name] = VariantSelection(tuple(dict.fromkeys(variant_ids)), description)
    while len(kept) > _KEPT:
        kept.pop(next(iter(kept)))
    st.switch_page("pages/review.py", query_params={SELECTION: name})


def picked_variants(name: str) -> VariantSelection | None:
    """A new copy of the selection with this name in the URL; None if it is no longer kept."""
    found = _kept().get(name)
    return None if found is None else VariantSelection(found.ids, found.description)


# -- A menu that limits a page to the anchors of one source ---------------------------------------


SOURCE_KEY = "source"
"""Key of the menu, and its name in the URL."""

_ALL = 0
"""No source has this id."""


def source_menu(sources: Mapping[int, str]) -> int | None:
    """Draw the menu unless there is only one source. Return the chosen id, None for all sources.

    Args:
        sources: names by id, as returned by ``sources_in_use``.
    """
    if len(sources) < 2:
        return None
    labels = {_ALL: ALL_SOURCES} | dict(sources)
    if st.session_state.get(SOURCE_KEY, _ALL) not in labels:  # all its variants were retired
        st.session_state[SOURCE_KEY] = _ALL
    chosen: int = st.selectbox(
        "Source",
        list(labels),
        format_func=lambda key: labels[key],
        key=SOURCE_KEY,
        bind="query-params",
        width=260,
    )
    return None if chosen == _ALL else chosen


# -- What a page that needs variants or anchors shows if there are none ---------------------------


def no_variants() -> None:
    """Draw a sentence that says what to do, with a link."""
    with st.container(border=True, key="empty"):
        st.write(
            "There are no variants yet. Load the starter corpus on the Overview page, or add your "
            "own anchors and write variants of them."
        )
        st.page_link("pages/overview.py", label="Go to Overview", icon=":material/conversion_path:")


def nothing(message: str) -> None:
    """Draw a sentence that says why there is nothing here, with a link to review variants."""
    with st.container(border=True, key="empty"):
        st.write(message)
        st.page_link("pages/review.py", label="Review variants", icon=":material/rate_review:")


def no_anchors() -> None:
    """Draw a sentence that says what is missing, with links to add anchors."""
    with st.container(border=True, key="empty-anchors"):
        st.text("There are no anchors yet. Variants are made from anchors.")
        st.page_link(
            "pages/anchors.py",
            label="Add your own anchors",
            icon=":material/notes:",
            query_params={"part": "Add"},
        )
        st.page_link(
            "pages/overview.py",
            label="Load the starter corpus on the Overview page",
            icon=":material/conversion_path:",
        )


def no_release(message: str) -> None:
    """Draw a sentence that says why a release is needed, with a link to create one."""
    st.text(message)
    st.page_link("pages/release.py", label="Create a release", icon=":material/inventory_2:")


# -- What a section of results shows before there are any -----------------------------------------


def no_results(message: str, *, section: str, key: str) -> None:
    """Draw a sentence that says what is missing, with a button to the section that creates it.

    Args:
        section: the name of a section of the same page.
        key: the key of the control that chooses the section.
    """
    with st.container(border=True, key="empty-results"):
        st.text(message)
        st.button(
            f"Go to {section}",
            key="empty-results-go",
            icon=":material/arrow_forward:",
            on_click=st.session_state.update,
            args=({key: section},),
        )
