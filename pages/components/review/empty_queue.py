"""What the review page shows where nothing is left: where there is more."""

import streamlit as st

from curation.review.browser_window.key_actions import ReviewState
from curation.review.queue import Queue
from pages.components.review.queue_choice import ALL
from pages.components.shared.formatting.label import plain
from pages.components.shared.links import QUEUE_SOURCE, QUEUES
from pages.components.shared.variants import empty_state

_NOTHING_LEFT = {
    Queue.PENDING: "Nothing is pending: every variant has been decided",
    Queue.CONFLICT: "No variant is in conflict",
    Queue.MODEL_ONLY: "A person has decided on everything that models accepted",
    Queue.SECOND_LOOK: "No variant needs a second look",
}


def show(state: ReviewState) -> None:
    """Nothing left here: say where there is more."""
    state.recount()  # what others did meanwhile decides where there is more
    if not state.sources:
        empty_state.box()
    else:
        _done(state)
    state.keyboard.bind("z", state.undo)
    st.button("Undo", key="z-empty", on_click=state.undo)


def _done(state: ReviewState) -> None:
    with st.container(border=True, key="empty"):
        if state.elsewhere:
            left = (
                "1 card left is" if state.elsewhere == 1 else f"{state.elsewhere:,} cards left are"
            )
            st.write(f"{left} on other screens.")
            st.button("Look again", help="Cards come back when they are left undecided.")
        if skipped := state.count_skipped():
            st.write(f"Nothing left in this queue but the {skipped:,} you skipped.")
            st.button("Go through the skipped ones", on_click=state.skipped.clear)
        elif state.elsewhere:
            pass  # there is nothing else to say
        elif state.selection is not None:
            st.write("Every variant of this selection has been decided, and none is in conflict.")
        else:
            _elsewhere(state)


def _elsewhere(state: ReviewState) -> None:
    """The queue is empty: go on with another type, or with another queue."""
    if (more := state.first_type(state.queue)) is not None:
        label = plain(next(entry.label for entry in state.types if entry.id == more))
        number = state.left_in(state.queue)
        st.write(f"Nothing left of this type in this queue. Other types have {number:,}.")
        if st.button("Continue with the next type", help=label):
            _choose(type=more)
        return
    if number := state.left_of(None, state.queue):
        st.write(f"Nothing left of this source in this queue. Other sources have {number:,}.")
        if st.button("Review all sources"):
            _choose(**{QUEUE_SOURCE: ALL, "type": ALL})
        return
    st.write(f"{_NOTHING_LEFT[state.queue]}.")
    for queue, label in QUEUES.items():
        number = state.left_in(queue)
        if number and st.button(f"Go to: {label} ({number:,})", key=f"go-{queue}"):
            _choose(queue=queue, type=ALL)
    if not state.left_in(Queue.PENDING):
        st.page_link("pages/release.py", label="Freeze what is accepted in a release")


_CHOICE = "review_choice"


def _choose(**values: str) -> None:
    """Draw the page again with this chosen: a widget that is drawn cannot be changed."""
    st.session_state[_CHOICE] = values
    st.rerun()


def follow_choice() -> None:
    """Choose what ``_choose`` asked for; before the controls are drawn."""
    for key, value in st.session_state.pop(_CHOICE, {}).items():
        st.session_state[key] = value
