"""Ways from one screen to another: no screen imports another screen's parts."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import streamlit as st

from curation.generation.request import Which
from curation.review.queue import Queue
from curation.taxonomy.roles import Role
from pages.components.shared.formatting.label import plain

GENERATE_WHICH, GENERATE_SOURCE = "generate-which", "generate-source"
GENERATE_ROLES, GENERATE_TYPES = "generate-roles", "generate-types"
"""The keys of the Generate page's boxes."""

GENERATE_SECTION, SET_UP = "step", "Set up"
"""In the Generate page's address, and the section in which a run is set up."""

ANCHOR = "anchor"
"""In the Anchors page's address: the uids of those that are picked."""

QUEUES = {
    Queue.PENDING: "Pending",
    Queue.CONFLICT: "In conflict",
    Queue.MODEL_ONLY: "Accepted by a model only",
    Queue.SECOND_LOOK: "Second look",
}
"""The queues as the Review page and its address call them."""

ALL_TYPES = "All types"
ALL_SOURCES = "All sources"

QUEUE_SOURCE = "queue-source"
"""The source that is reviewed, in the Review page's address. `source_choice` has another key: the
box of a page that somebody leaves would outrank the address of the next one."""

SECTION = "show"
"""The section of the Team page, in its address."""
GOLD, PEOPLE, PRACTICE = "Gold items", "People", "Practice"
"""Sections that other pages lead to, or that lead to each other."""
GOLD_UID = "gold"
"""In the Team page's address: the uid of a variant to make a gold item."""


def make_gold(uid: str) -> str:
    """The address at which a variant is made a gold item, relative to the app's."""
    return f"team?{SECTION}={quote(GOLD)}&{GOLD_UID}={quote(uid, safe='')}"


def to_generate(
    which: Which,
    *,
    source: str | None = None,
    roles: Sequence[Role] = (),
    types: Sequence[str] = (),
) -> None:
    """Switch to the Generate page, set to write for these anchors, calls and types."""
    state = st.session_state
    state[GENERATE_WHICH] = which
    if source is not None:
        state[GENERATE_SOURCE] = source
    if roles:
        state[GENERATE_ROLES] = list(roles)
    if types:
        state[GENERATE_TYPES] = list(types)
    # Without any, Streamlit refuses to leave a page whose boxes are in the address.
    st.switch_page("pages/generate.py", query_params={GENERATE_SECTION: SET_UP})


def anchor(uid: str) -> str:
    """The address of the Anchors page with this anchor picked, relative to the app's."""
    return f"anchors?{ANCHOR}={quote(uid, safe='')}"


def to_review(
    label: str, *, queue: Queue | None = None, source: str | None = None, **more: Any
) -> None:
    """A link to the Review page.

    Args:
        queue: open this queue with all types; None for where the reviewer left off.
        source: the name of a source to review; None leaves the choice as it is.
    """
    address = {} if queue is None else {"queue": QUEUES[queue], "type": ALL_TYPES}
    if source is not None:
        address[QUEUE_SOURCE] = plain(source)
    st.page_link("pages/review.py", label=label, query_params=address, **more)
