"""Practice for new reviewers: a link above the card, or instead of the card."""

import streamlit as st

from curation.decisions.roles import Role
from curation.formatting import counted
from curation.review.gold.practice import must_practise, offered
from pages.components.shared.links import PRACTICE, SECTION
from pages.components.shared.shell import open_project, rights


def stops(reviewer_id: int) -> bool:
    """Offer practice to a new reviewer. Return whether the project requires it before reviewing."""
    number = open_project.ask(offered, reviewer_id) if rights.may(Role.REVIEWER) else 0
    if not number:
        return False
    first = open_project.ask(must_practise, reviewer_id)
    cards = counted(number, "card")
    if not first:
        with st.container(key="practice-offer"):
            _link(f"New here? Practise on {cards} with feedback")
        return False
    with st.container(border=True, key="empty"):
        st.write(
            f"Before you review, practise on {cards}. You decide as on this page, and after each "
            "card you see what is right and why. Practice answers are not decisions."
        )
        _link("Start practising")
    return True


def _link(label: str) -> None:
    st.page_link(
        "pages/team.py",
        label=label,
        icon=":material/school:",
        query_params={SECTION: PRACTICE},
    )
