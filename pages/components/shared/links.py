"""Links between pages. No page imports another page's parts."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import streamlit as st

from curation.generation.request import Which
from curation.review.queue import Queue
from curation.taxonomy.surface_check import Role
from pages.components.shared.formatting.label import plain

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
"""URL parameter of the Review page with the source. It differs from the key in `source_choice`: the
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
