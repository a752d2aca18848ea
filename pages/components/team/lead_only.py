"""What only a lead sees on the Team page."""

import streamlit as st

from curation.review.people.roles import Role
from pages.components.shared.shell import rights, signin


def lead(do: str) -> int | None:
    """The signed-in lead's id; for anybody else None, and a sentence that says why.

    Args:
        do: what leads do here, as in 'Leads …'.
    """
    me = signin.reviewer_id()
    if me is None:
        st.write(f"Leads {do}. Say who you are.")
        signin.name_form("Your name", key="signin-lead", button="Continue")
        return None
    return me if rights.may(Role.LEAD) or rights.only_leads(do) else None
