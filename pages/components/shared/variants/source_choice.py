"""What a page is narrowed to: the anchors of one source, or of all."""

from collections.abc import Mapping

import streamlit as st

from pages.components.shared.formatting.label import plain
from pages.components.shared.links import ALL_SOURCES

KEY = "source"
"""Of the box, and in the address."""

_ALL = 0
"""No source has this id."""


def selectbox(sources: Mapping[int, str]) -> int | None:
    """The source chosen, None for all; not drawn where there is one source.

    Args:
        sources: their names by id, as ``sources_in_use`` gives them.
    """
    if len(sources) < 2:
        return None
    labels = {_ALL: ALL_SOURCES} | {key: plain(name) for key, name in sources.items()}
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
