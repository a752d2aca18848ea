"""What the review page shows where nothing is left: where there is more."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from curation.review.browser_window.key_actions import ReviewState
from curation.review.queue import Queue
from curation.taxonomy.built_in import VariantType
from pages.components.review.queue_choice import ALL, quotas_in_words
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
            _offer(state, [("Go through the skipped ones", state.skipped.clear)])
        elif state.elsewhere:
            pass  # there is nothing else to say
        elif state.selection is not None:
            st.write("Every variant of this selection has been decided, and none is in conflict.")
        else:
            _elsewhere(state)


def _elsewhere(state: ReviewState) -> None:
    """The queue is empty: go on with another type, another source or another queue."""
    types = [(entry, number) for entry in state.types if (number := _left(state, entry))]
    choose = partial(_choose, state)
    if types:
        offers = [
            (f"{plain(entry.label)} ({number:,})", partial(choose, type=entry.id))
            for entry, number in types
        ]
        if number := state.left_of(None, state.queue, state.type_id):
            all_of_it = partial(choose, **{QUEUE_SOURCE: ALL})
            offers.append((f"This type in all sources ({number:,})", all_of_it))
        st.text(f"{_nothing_of_type(state)} Go on with:")
        _offer(state, offers)
    elif number := state.left_of(None, state.queue):
        st.write(f"Nothing left of this source in this queue. Other sources have {number:,}.")
        everything = partial(choose, **{QUEUE_SOURCE: ALL, "type": ALL})
        _offer(state, [("Review all sources", everything)])
    else:
        _say_nothing_left(state)
        _offer(
            state,
            [
                (f"Go to: {label} ({number:,})", partial(choose, queue=queue, type=ALL))
                for queue, label in QUEUES.items()
                if (number := state.left_in(queue))
            ],
        )
        if not state.left_in(Queue.PENDING):
            st.page_link("pages/release.py", label="Freeze what is accepted in a release")


def _left(state: ReviewState, entry: VariantType) -> int:
    return state.left_in(state.queue, entry.id)


def _say_nothing_left(state: ReviewState) -> None:
    """That nothing is left in this queue, or nothing but what is beyond the reviewer's quotas."""
    reached = state.reached(state.queue)
    if not any(n > 0 and type_id in reached for (type_id, _), n in state.left[state.queue].items()):
        st.write(f"{_NOTHING_LEFT[state.queue]}.")
        return
    st.text(
        f"You have reached your quota. {quotas_in_words(state)}. "
        "The others are left for other people. To get more, have your quota raised under Team, "
        "Assignment."
    )


def _nothing_of_type(state: ReviewState) -> str:
    """That all of this type is decided, or that the source never had any of it."""
    if state.type_id in state.reached(state.queue):
        return "You have reached your quota for this type."
    if state.source_id is None:
        return "Nothing is left of this type in this queue."
    source = state.sources[state.source_id]
    if sum(state.counts.get(state.type_id or "", {}).values()):
        return f"Nothing is left of this type in this queue of {source}."
    return f"{source} has no variants of this type."


def _offer(state: ReviewState, offers: Sequence[tuple[str, Callable[[], None]]]) -> None:
    """Ways to go on, as labels that are safe to draw and what each does; N takes the first."""
    with st.container(horizontal=True, gap="small", key="go-on"):
        for place, (label, act) in enumerate(offers):
            st.button(
                label, key=f"n-go-on-{place}" if place == 0 else f"go-on-{place}", on_click=act
            )
    if offers:
        state.keyboard.bind("n", offers[0][1])


_CHOICE = "review_choice"


def _choose(state: ReviewState, **values: str) -> None:
    """Draw the page again with this chosen: a widget that is drawn cannot be changed."""
    st.session_state[_CHOICE] = values
    state.redraw = True


def follow_choice() -> None:
    """Choose what ``_choose`` asked for; before the controls are drawn."""
    for key, value in st.session_state.pop(_CHOICE, {}).items():
        st.session_state[key] = value
