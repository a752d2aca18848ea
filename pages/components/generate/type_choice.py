"""Choose the types to ask for: all types of the chosen calls, or some of them."""

from collections.abc import Collection

import streamlit as st

from curation.taxonomy.surface_check import Role
from pages.components.shared import links
from pages.components.shared.shell import open_project


def only(roles: Collection[Role]) -> tuple[str, ...]:
    """Show the field; an empty choice means all types of these calls."""
    types = open_project.types()
    names = {
        entry.id: f"{entry.label} (on request)" if entry.on_request else entry.label
        for entry in types
        if entry.role in roles and not entry.imported
    }
    kept = [
        type_id for type_id in st.session_state.get(links.GENERATE_TYPES, ()) if type_id in names
    ]
    if links.GENERATE_TYPES in st.session_state and kept != list(
        st.session_state[links.GENERATE_TYPES]
    ):
        st.session_state[links.GENERATE_TYPES] = (
            kept  # its call is no longer chosen, or it is retired
        )
    chosen = st.multiselect(
        "Only these types",
        list(names),
        format_func=lambda key: names[key],
        key=links.GENERATE_TYPES,
        placeholder="All types of these roles, except optional ones",
        persist_state="session",
    )
    return tuple(chosen)
