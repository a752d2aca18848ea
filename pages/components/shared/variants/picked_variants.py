"""Variants picked on another page, for review one after the other."""

from collections.abc import Sequence
from secrets import token_urlsafe

import streamlit as st

from curation.review.browser_window.selection import VariantSelection

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


def picked(name: str) -> VariantSelection | None:
    """A new copy of the selection with this name in the URL; None if it is no longer kept."""
    found = _kept().get(name)
    return None if found is None else VariantSelection(found.ids, found.description)
