"""A menu that limits a page to the anchors of one source."""

from collections.abc import Mapping

import streamlit as st

from pages.components.shared.links import ALL_SOURCES

KEY = "source"
"""Key of the menu, and its name in the URL."""

_ALL = 0
"""No source has this id."""


def selectbox(sources: Mapping[int, str]) -> int | None:
    """Draw the menu unless there is only one source. Return the chosen id, None for all sources.

    Args:
        sources: names by id, as returned by ``sources_in_use``.
    """
    if len(sources) < 2:
        return None
    labels = {_ALL: ALL_SOURCES} | dict(sources)
    if st.session_state.get(KEY, _ALL) not in labels:  # all its variants were retired
        st.session_state[KEY] = _ALL
    chosen: int = st.selectbox(
        "Source",
        list(labels),
        format_func=lambda key: labels[key],
        key=KEY,
        bind="query-params",
        width=260,
    )
    return None if chosen == _ALL else chosen
