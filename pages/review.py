"""Review: decide on variants with the keyboard, one at a time or with their whole family."""

from collections.abc import Callable

import streamlit as st

from curation.decisions.history import actions_since
from curation.review.browser_window.adjudicating import ReadingState
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.selection import sample_selection
from curation.review.browser_window.shown_now import CardView
from curation.review.discussing import open_marks
from curation.review.queue import Queue
from curation.taxonomy.built_in import VariantType
from db.models import TeamRole
from pages.components.review import (
    card_details,
    desk,
    empty_queue,
    keys,
    practice_section,
    queue_choice,
    search_box,
    toolbar,
)
from pages.components.shared import card, formatting, guidance, links
from pages.components.shared.shell import current_user, error_messages, frame, open_project

_BLIND_COOKIE, _GUIDE_COOKIE = "hedgerow_blind", "hedgerow_guide"
# URL parameters that choose what to review. Without any, this reviewer continues where they were.
_PLACE = {"queue", "type", links.QUEUE_SOURCE, "order", "view", "variant", links.SELECTION}


def _state(reviewer_id: int) -> ReviewState:
    """The state of this session. A change of reviewer creates a new one."""
    state = st.session_state.get(frame.REVIEW_STATE)
    kind = ReviewState if current_user.may(TeamRole.REVIEWER) else ReadingState
    if type(state) is not kind or state.reviewer_id != reviewer_id:
        frame.leave_cards()
        state = kind(
            engine=open_project.engine(), reviewer_id=reviewer_id, types=open_project.types()
        )
        state.recount()
        state.type_id = state.first_type(Queue.PENDING)
        state.guide = st.context.cookies.get(_GUIDE_COOKIE) != "hidden"
        state.pace.actions = open_project.ask(actions_since, reviewer_id, formatting.midnight())
        state.drafts.read()
        state.find_left(frame.is_window_open, go_there=not _PLACE & set(st.query_params))
        st.session_state[frame.REVIEW_STATE] = state
        frame.release_closed_windows()
    elif not state.counts:  # the project was empty before
        state.recount()
        state.type_id = state.first_type(Queue.PENDING)
    frame.keep_window(state.screen.window)
    _follow_taxonomy(state)
    return state


def _follow_taxonomy(state: ReviewState) -> None:
    """Follow changes to the taxonomy: types may have been added or retired."""
    before, state.types = state.types, open_project.types()
    ids = {entry.id for entry in state.types}
    if ids != {entry.id for entry in before}:
        state.recount()
    if state.type_id not in {None, *ids}:
        state.type_id = state.first_type(Queue.PENDING)
        state.restart()


def _follow(name: str, follow: Callable[[str], None]) -> None:
    """Apply a URL parameter once."""
    seen = st.session_state.setdefault("review_address", {})
    value = st.query_params.get(name)
    if value and value != seen.get(name):
        follow(value)
    seen[name] = value


def _pick(state: ReviewState, name: str) -> None:
    """Review a selection made on another page, or the sample of a calibration."""
    found = open_project.ask(sample_selection, name, state.reviewer_id) or links.picked_variants(
        name
    )
    if found is None:
        st.query_params.pop(links.SELECTION, None)
        state.say(
            "This selection no longer exists. Go back to the page where you made it, and select "
            "the variants again.",
            warn=True,
        )
    else:
        state.take(found)


def _keep_blind(state: ReviewState) -> None:
    """Keep blind mode across reloads and other pages, with a URL parameter and a cookie."""
    if not st.session_state.get("review_blind_read"):
        st.session_state["review_blind_read"] = True
        asked = st.query_params.get("blind")
        state.blind = (asked or st.context.cookies.get(_BLIND_COOKIE)) == "1"
    if state.blind != (st.query_params.get("blind") == "1"):
        if state.blind:
            st.query_params["blind"] = "1"
        else:
            st.query_params.pop("blind", None)


# -- The card for viewers --------------------------------------------------------------------------


@error_messages.fragment
def _read_only(state: ReadingState) -> None:
    """For viewers: draw the same card, with nothing that changes it."""
    view = desk.current_view(state)
    focus = view.focus
    st.caption(
        "You are a viewer, so you can read cards but not decide on them. To decide, ask a lead to "
        "make you a reviewer."
    )
    if focus is None:
        formatting.emit(card.message(state.message, warn=state.warn))
        empty_queue.show(state, none_left=empty_queue.draw_none_left)
        queue_choice.progress(state)
    else:
        _read(state, view, open_project.every_type())
    keys.listen(state)
    if state.pinned is None and "variant" in st.query_params:
        del st.query_params["variant"]  # the URL named a card that is no longer shown


def _read(state: ReadingState, view: CardView, entries: dict[str, VariantType]) -> None:
    focus = view.focus
    assert focus is not None
    entry = entries[focus.variant.type_id]
    with st.container(horizontal=True, key="desk"):
        with st.container(key="desk-card"):
            desk.focus_card(state, view, entries, open_project.ask(open_marks, focus.variant.id))
            formatting.emit(card.message(state.message, warn=state.warn))
            _buttons(state)
            if state.by_family:
                for item in view.cards:
                    formatting.emit(
                        card.family_row(
                            item,
                            entries[item.variant.type_id],
                            threshold=state.threshold,
                            focus=item.variant.id == state.focus_id,
                            hidden=item.variant.id in view.hidden,
                            sibling=None,
                        )
                    )
            if state.details:
                card_details.details(state, view)
            queue_choice.progress(state, focus=entry.id)
        if state.guide:
            with st.container(key="desk-guide"):
                formatting.emit(guidance.guide(entry))


def _buttons(state: ReadingState) -> None:
    with st.container(horizontal=True, key="decide", gap="small"):
        for label, letter, act in (
            ("Next card", "s", state.go_on),
            ("Details", "g", state.toggle_details),
            ("Guideline", "i", state.toggle_guide),
        ):
            state.keyboard.bind(letter, act)
            st.button(label, key=f"{letter}-key", on_click=act)
        if st.button("Search (/)", key="search-key"):
            search_box.search(state)


frame.begin(frame.REVIEW, "Decide whether each variant fits its type.", compact=True)
if (me := current_user.reviewer_id()) is None:
    st.write("Enter your name. Your decisions are stored under it, so that you can undo them.")
    current_user.name_form("Your name", key="signin-review")
    st.stop()
if practice_section.practice_stops(me):
    st.stop()
current = _state(me)
_follow(links.SELECTION, lambda name: _pick(current, name))
_keep_blind(current)
empty_queue.follow_choice()
with st.container(horizontal=True, vertical_alignment="center", key="controls"):
    queue_choice.controls(current)
    row = st.container(width="content")  # filled last, when the labels of the tools are known
_follow("variant", current.open_link)  # last, because a change of queue restarts at its head
if isinstance(current, ReadingState):
    _read_only(current)
else:
    current.resume()
    desk.desk(current)
    if current.sources:
        with row:
            toolbar.tools(current)
formatting.remember(_BLIND_COOKIE, "1" if current.blind else "0")
formatting.remember(_GUIDE_COOKIE, "shown" if current.guide else "hidden")
