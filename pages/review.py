"""Review: one variant at a time, or an anchor's whole family, decided with the keyboard."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from curation import review
from curation.queue import Order
from curation.review import Shown
from curation.taxonomy import REJECT_REASONS, VariantType
from db.engine import reading
from db.models import Status
from pages.components import background, card, frame, markup, project, review_panels, signin
from pages.components.review_state import Panel, ReviewState, View

ORDERS = {
    Order.OLDEST: "Oldest",
    Order.SUSPICIOUS: "Most suspicious",
    Order.HARDEST: "Hardest",
    Order.RANDOM: "Random",
}
CARD, FAMILY = "card", "family"
VIEWS = {CARD: "One card", FAMILY: "Family"}
ALL = "all"


def _state(reviewer_id: int) -> ReviewState:
    """This session's state; another reviewer begins anew."""
    state = st.session_state.get("review")
    if state is None or state.reviewer_id != reviewer_id:
        state = ReviewState(engine=project.engine(), reviewer_id=reviewer_id, types=project.types())
        state.recount()
        state.type_id = state.first_pending_type()
        st.session_state["review"] = state
    return state


def _follow_permalink(state: ReviewState) -> None:
    """Show the variant that the address names, once."""
    uid = st.query_params.get("variant")
    if not uid or uid == st.session_state.get("review_permalink"):
        return
    st.session_state["review_permalink"] = uid
    with reading(state.engine) as session:
        state.pinned = review.find_variant(session, uid).id


def _controls(state: ReviewState) -> None:
    """What is in the queue, and in which order. No text boxes: they would swallow the keys."""
    labels = {entry.id: entry.label for entry in state.types} | {ALL: "All types"}
    # The address keeps what is chosen, so that a reload comes back to it.
    common: dict[str, Any] = {
        "label_visibility": "collapsed", "required": True, "bind": "query-params",
    }  # fmt: skip
    for key, value in (("type", state.type_id or ALL), ("order", state.order), ("view", CARD)):
        st.session_state.setdefault(key, value)
    with st.container(horizontal=True, vertical_alignment="center", key="queue"):
        chosen = st.segmented_control(
            "Type", list(labels), key="type", format_func=lambda key: labels[key], **common
        )
        order = st.segmented_control(
            "Order", list(ORDERS), key="order", format_func=lambda key: ORDERS[key],
            help="Hardest: small Levenshtein distance and high cosine, the pairs an encoder gets "
            "wrong. Most suspicious: what the diagnostics flag.", **common,
        )  # fmt: skip
        view = st.segmented_control(
            "View", list(VIEWS), key="view", format_func=lambda key: VIEWS[key],
            help="Family: an anchor with all its variants together.", **common,
        )  # fmt: skip
    wanted = (None if chosen == ALL else chosen, Order(order or state.order), view == FAMILY)
    if wanted != (state.type_id, state.order, state.by_family):
        state.type_id, state.order, state.by_family = wanted
        state.restart()


def _decided(state: ReviewState) -> None:
    rows = []
    for entry in state.types:
        counts = state.counts.get(entry.id, {})
        total = sum(n for status, n in counts.items() if status != "superseded")
        current = state.type_id in (entry.id, None)
        rows.append((entry.label, state.pending(entry.id), total, current))
    markup.show(card.progress(rows))


@st.fragment
def _desk(state: ReviewState) -> None:
    view = state.view()
    if view.focus is None:
        markup.show(card.message(state.message, warn=state.warn))
        _empty(state)
        _decided(state)
        return
    entries = {entry.id: entry for entry in state.types}
    entry = entries[view.focus.variant.type_id]
    shown = state.showings[view.focus.variant.id or 0]
    markup.show(card.card(view.focus, entry, threshold=state.threshold))
    markup.show(card.message(state.message, warn=state.warn))
    _buttons(state, shown)
    review_panels.draw(state, view.focus, shown)
    if state.by_family:
        _family(state, view, entries)
    if state.details:
        review_panels.details(state, view.focus)
    _decided(state)
    state.drawn_now()
    if state.pinned is None and "variant" in st.query_params:
        del st.query_params["variant"]  # the address named a card that is no longer shown
    background.measure_edits(state.edited)


def _family(state: ReviewState, view: View, entries: dict[str, VariantType]) -> None:
    """All variants of the anchor; the marked one has the keys, each has its own buttons."""
    threshold = state.threshold
    for item in view.cards:
        shown = state.showings[item.variant.id or 0]
        has_keys = item.variant.id == state.focus_id
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            markup.show(
                card.family_row(
                    item, entries[item.variant.type_id], threshold=threshold, focus=has_keys
                )
            )
            st.button("Accept", key=f"row-accept-{shown.action_id}", width="content",
                      on_click=state.accept, args=(shown,),
                      disabled=item.variant.status == Status.ACCEPTED)  # fmt: skip
            st.button("Choose", key=f"row-focus-{shown.action_id}", width="content",
                      on_click=state.focus, args=(shown.variant_id,), disabled=has_keys,
                      help="Let the keys and the buttons above mean this one.")  # fmt: skip


def _buttons(state: ReviewState, shown: Shown) -> None:
    """The keys as buttons. Their identity carries the showing, so that a late key is known.

    While a panel is open for typing, letters are text: no button takes anything then.
    """
    typing = state.typing
    choosing = state.panel is Panel.RETYPE

    def button(
        label: str, letter: str, act: Callable[..., None], *args: object, **more: Any
    ) -> None:
        has_key = not typing and (letter == "t" or not choosing)
        st.button(
            label, key=f"{letter}-{shown.action_id}", shortcut=letter if has_key else None,
            disabled=typing, on_click=act, args=args, **more,
        )  # fmt: skip

    with st.container(horizontal=True, key="decide", gap="small"):
        button("Accept", "a", state.accept, shown, type="primary")
        button("Reject with a note", "x", state.toggle, Panel.REJECT)
        button("Edit", "e", state.toggle, Panel.EDIT)
        button("Retype", "t", state.toggle, Panel.RETYPE)
        button("Skip", "s", state.skip, shown)
        button("Undo", "z", state.undo)
        button("Details", "g", state.toggle_details, help="Siblings, guideline, origin, history.")
        button("Keys", "h", state.toggle, Panel.KEYS)
        if state.by_family:
            button("Previous", "up", state.step, shown, -1)
            button("Next", "down", state.step, shown, 1)
    if state.panel in (Panel.NONE, Panel.KEYS):
        _reasons(state, shown)


def _reasons(state: ReviewState, shown: Shown) -> None:
    """Reject with one key: a digit a reason. 'Other' needs a note, so it opens the panel."""
    key = shown.action_id
    with st.container(horizontal=True, key="reasons", gap="small", vertical_alignment="center"):
        st.caption("Reject:", width="content")
        for reason in REJECT_REASONS:
            if reason.id == "anchor_unsuitable":
                continue
            act, args = (
                (state.toggle, (Panel.REJECT,))
                if reason.id == "other"
                else (state.reject_at_once, (shown, reason.id))
            )
            st.button(
                reason.label, key=f"{reason.digit}-{key}", shortcut=reason.digit, type="tertiary",
                help=reason.explanation, on_click=act, args=args,
            )  # fmt: skip
        st.button("Anchor unsuitable (whole family)", key=f"f-{key}", shortcut="f",
                  type="tertiary", on_click=state.reject_family, args=(shown,),
                  help="Not affirmative to begin with: rejects every variant of it.")  # fmt: skip


def _empty(state: ReviewState) -> None:
    """Nothing left here: say where there is more."""
    other = state.first_pending_type()
    with st.container(border=True, key="empty"):
        if state.skipped:
            st.write(f"Nothing left in this queue but the {len(state.skipped)} you skipped.")
            st.button("Go through the skipped ones", on_click=state.skipped.clear)
        elif other is None:
            st.write("Nothing is pending: every variant has been decided.")
            st.page_link("pages/release.py", label="Freeze what is accepted in a release")
        else:
            label = next(entry.label for entry in state.types if entry.id == other)
            st.write("Nothing is pending in this queue. Choose above what to go on with:")
            st.text(f"{label}: {state.pending(other):,} pending")
    st.button("Undo", key="undo-empty", shortcut="z", on_click=state.undo)


frame.begin("Review", "Decide variant by variant whether it is what its type promises.")
if (me := signin.reviewer_id()) is None:
    st.write("Decisions are stored under a name, so that they can be told apart and taken back.")
    signin.name_form("Your name", key="signin-review")
    st.stop()
current = _state(me)
_follow_permalink(current)
_controls(current)
_desk(current)
