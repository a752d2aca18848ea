"""What only a lead sees on the Team page."""

import streamlit as st

from curation.review.people.roles import is_lead
from pages.components.shared.shell import open_project, signin


def lead(what: str) -> int | None:
    """The signed-in lead's id; for anybody else None, and a sentence that says why.

    Args:
        what: what a lead does here, as in 'Leads …'.
    """
    me = signin.reviewer_id()
    if me is None:
        st.write(f"Leads {what}. Say who you are.")
        signin.name_form("Your name", key="signin-lead", button="Continue")
        return None
    if not open_project.ask(is_lead, me):
        st.write(f"Only leads {what}. Ask one of them to make you a lead if you need to.")
        return None
    return me
