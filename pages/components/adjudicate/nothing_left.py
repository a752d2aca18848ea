"""What the Adjudicate page shows when no conflict is left."""

import streamlit as st

from curation.review.browser_window.adjudicating import AdjudicationState
from curation.review.queue import Queue
from pages.components.shared.links import to_review


def draw(state: AdjudicationState) -> None:
    """Say whether other types or sources have conflicts, or how conflicts come about."""
    if left := state.left_of(None, Queue.CONFLICT):
        st.write(
            f"This type and source have no conflicts. Elsewhere there are {left:,}: choose another "
            "type or source above."
        )
        return
    st.write(
        "No variant is in conflict. A variant appears here when everybody assigned to it has "
        "decided and their verdicts differ. To have several people decide on a share of the "
        "variants, go to Team, Assignment."
    )
    to_review("Review pending variants", queue=Queue.PENDING)
