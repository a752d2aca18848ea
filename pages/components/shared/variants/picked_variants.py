"""Variants picked on another page, to be reviewed one after the other."""

from collections.abc import Sequence
from secrets import token_urlsafe

import streamlit as st

from curation.review.browser_window.selection import VariantSelection

_KEPT = 50
"""Selections kept for reloads; the oldest goes when another comes."""

SELECTION = "selection"
"""The address names a selection by this key, so that a reload comes back to it."""


@st.cache_resource(show_spinner=False)
def _kept() -> dict[str, VariantSelection]:
    """What was picked lately, by the name in the address; for all sessions of this server."""
    return {}


def open_in_review(variant_ids: Sequence[int], told: str) -> None:
    """Switch to the Review page, which goes through these variants in their order.

    Args:
        variant_ids: ids as the database has them; repeated ones count once.
        told: where they come from, in a few words; shown as plain text.
    """
    kept = _kept()
    name = token_urlsafe(6)
    kept[name] = VariantSelection(tuple(dict.fromkeys(variant_ids)), told)
    while len(kept) > _KEPT:
        kept.pop(next(iter(kept)))
    st.switch_page("pages/review.py", query_params={SELECTION: name})


def picked(name: str) -> VariantSelection | None:
    """A selection of one's own by its name in the address; None if it is no longer kept."""
    found = _kept().get(name)
    return None if found is None else VariantSelection(found.ids, found.told)
