"""Sections of the Team page for leads only."""

import streamlit as st

from curation.decisions.roles import Role
from pages.components.shared.shell import rights, signin


def lead(do: str) -> int | None:
    """The id of the lead at this page; for others None, with a message about why.

    Args:
        do: what leads can do here, to complete "Only leads can …".
    """
    me = signin.reviewer_id()
    if me is None:
        st.write(f"Only leads can {do}. Enter your name.")
        signin.name_form("Your name", key="signin-lead", button="Continue")
        return None
    return me if rights.may(Role.LEAD) or rights.only_leads(do) else None
