"""What the person at this page may do. What they may not is not offered; the library refuses it
in any case (see ``curation.review.people.roles``)."""

import streamlit as st

from curation.review.people.roles import Role, acting_role, allows
from pages.components.shared.shell import open_project


def may(least: Role) -> bool:
    """Whether they may do what needs at least this role."""
    return allows(open_project.ask(acting_role), least)


def only_looks(what: str = "change anything here") -> bool:
    """Whether they are no lead; then says so in place of what only a lead can do.

    Args:
        what: what leads do here, after "Only leads".
    """
    if may(Role.LEAD):
        return False
    st.caption(f"Only leads {what}.")
    return True
