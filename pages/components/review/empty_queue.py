"""What the Review and Adjudicate pages show when a queue is empty: where to continue."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import streamlit as st

from curation.review.browser_window.key_actions import ReviewState
from curation.review.queue import Queue
from pages.components.review.queue_choice import ALL, quotas_in_words
from pages.components.shared import formatting, links

_NOTHING_LEFT = {
    Queue.PENDING: "No variant is pending. Every variant has been decided",
    Queue.CONFLICT: "No variant is in conflict",
    Queue.MODEL_ONLY: "A person has decided on everything that models accepted",
    Queue.SECOND_LOOK: "No variant needs a second look",
}

State = TypeVar("State", bound=ReviewState)


def show(state: State, *, none_left: Callable[[State], None]) -> None:
    """Say why no card is shown, and offer ways to continue.

    Args:
        none_left: draws what to say if nothing is left, not even on other screens or skipped.
    """
    state.recount()  # others may have decided since then
    if not state.sources:
        links.no_variants()
    else:
        with st.container(border=True, key="empty"):
            _done(state, none_left)
        state.keyboard.bind("z", state.undo)
        st.button("Undo", key="z-empty", on_click=state.undo)


def _done(state: State, none_left: Callable[[State], None]) -> None:
    if elsewhere := state.elsewhere:
        st.write(
            "The remaining card is on another screen."
            if elsewhere == 1
            else f"{elsewhere:,} remaining cards are on other screens."
        )
        st.button("Check again", help="Cards that others leave undecided come back.")
    if skipped := state.count_skipped():
        st.write(f"Only cards that you skipped are left in this queue: {skipped:,}.")
        _offer(state, [("Review skipped cards", state.skipped.clear)])
    if not (elsewhere or skipped):
        none_left(state)


def draw_none_left(state: ReviewState) -> None:
    """Offer another type, source or queue of the Review page."""
    if state.selection is not None:
        st.write("Every variant in this selection has been decided, and none is in conflict.")
        return
    types = [
        (entry, number) for entry in state.types if (number := state.left_in(state.queue, entry.id))
    ]
    choose = partial(_choose, state)
    if types:
        offers = [
            (f"{formatting.plain(entry.label)} ({number:,})", partial(choose, type=entry.id))
            for entry, number in types
        ]
        if number := state.left_of(None, state.queue, state.type_id):
            all_of_it = partial(choose, **{links.QUEUE_SOURCE: ALL})
            offers.append((f"This type in all sources ({number:,})", all_of_it))
        st.text(f"{_nothing_of_type(state)} Continue with:")
        _offer(state, offers)
    elif number := state.left_of(None, state.queue):
        st.write(f"This source has nothing left in this queue. Other sources have {number:,}.")
        everything = partial(choose, **{links.QUEUE_SOURCE: ALL, "type": ALL})
        _offer(state, [("Review all sources", everything)])
    else:
        _say_nothing_left(state)
        _offer(
            state,
            [
                (f"Go to: {label} ({number:,})", partial(choose, queue=queue, type=ALL))
                for queue, label in links.QUEUES.items()
                if (number := state.left_in(queue))
            ],
        )
        if not state.left_in(Queue.PENDING):
            st.page_link("pages/release.py", label="Freeze the accepted variants in a release")


def _say_nothing_left(state: ReviewState) -> None:
    """Say that the queue is empty, or that the rest is beyond the reviewer's quotas."""
    reached = state.reached(state.queue)
    if not any(n > 0 and type_id in reached for (type_id, _), n in state.left[state.queue].items()):
        st.write(f"{_NOTHING_LEFT[state.queue]}.")
        return
    st.text(
        f"You have reached your quota. {quotas_in_words(state)}. "
        "The remaining variants are for other people. To get more, ask a lead to raise your quota "
        "under Team, Assignment."
    )


def _nothing_of_type(state: ReviewState) -> str:
    """Say that the type has nothing left here, or that the source has no variants of it."""
    if state.type_id in state.reached(state.queue):
        return "You have reached your quota for this type."
    if state.source_id is None:
        return "This type has nothing left in this queue."
    source = state.sources[state.source_id]
    if sum(state.counts.get(state.type_id or "", {}).values()):
        return f"This type has nothing left in this queue for {source}."
    return f"{source} has no variants of this type."


def _offer(state: ReviewState, offers: Sequence[tuple[str, Callable[[], None]]]) -> None:
    """Draw buttons for ways to continue; N presses the first one.

    Args:
        offers: labels that are safe to draw, and what each button does.
    """
    with st.container(horizontal=True, gap="small", key="go-on"):
        for place, (label, act) in enumerate(offers):
            st.button(
                label, key=f"n-go-on-{place}" if place == 0 else f"go-on-{place}", on_click=act
            )
    if offers:
        state.keyboard.bind("n", offers[0][1])


_CHOICE = "review_choice"


def _choose(state: ReviewState, **values: str) -> None:
    """Redraw the page with these choices: a widget that is already drawn cannot be changed."""
    st.session_state[_CHOICE] = values
    state.redraw = True


def follow_choice() -> None:
    """Apply what ``_choose`` asked for; call it before the menus are drawn."""
    for key, value in st.session_state.pop(_CHOICE, {}).items():
        st.session_state[key] = value
