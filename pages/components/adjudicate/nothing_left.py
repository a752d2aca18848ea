"""What the Adjudicate page shows where no conflict is left."""

import streamlit as st

from curation.review.browser_window.adjudicating import AdjudicationState
from curation.review.queue import Queue
from pages.components.shared.links import to_review
from pages.components.shared.variants import empty_state


def show(state: AdjudicationState) -> None:
    """Say why nothing is here, and where to go on."""
    state.recount()  # what others did meanwhile decides where there is more
    if not state.sources:
        empty_state.box()
    else:
        _done(state)
    state.keyboard.bind("z", state.undo)
    st.button("Undo", key="z-empty", on_click=state.undo)


def _done(state: AdjudicationState) -> None:
    with st.container(border=True, key="empty"):
        if state.elsewhere:
            st.write("The conflicts that are left are on other screens.")
            st.button("Look again", help="Cards come back when they are left undecided.")
        if skipped := state.count_skipped():
            st.write(f"Nothing is left but the {skipped:,} you skipped.")
            st.button("Go through the skipped ones", on_click=state.skipped.clear)
        if state.elsewhere or skipped:
            return
        if left := state.left_of(None, Queue.CONFLICT):
            st.write(f"No conflict of this type and source. Others have {left:,}.")
            return
        st.write(
            "No variant is in conflict. One comes here as soon as everybody who is to decide on it "
            "has done so and they disagree: have several people decide on a share of the variants "
            "under Team, Assignment."
        )
        to_review("Review what is pending", queue=Queue.PENDING)
