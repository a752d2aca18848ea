"""What the review page goes through: type, order and view, or a selection made elsewhere."""

from typing import Any

import streamlit as st

from curation.opinions import has_opinions
from curation.queue import Order
from db.engine import reading
from pages.components import card, markup, no_variants
from pages.components.label import plain
from pages.components.review_place import BLIND_ORDERS
from pages.components.review_selection import SELECTION
from pages.components.review_state import ReviewState

ORDERS = {
    Order.OLDEST: "Oldest",
    Order.SUSPICIOUS: "Most suspicious",
    Order.HARDEST: "Hardest",
    Order.RANDOM: "Random",
    Order.DOUBTFUL: "Doubtful",
}
CARD, FAMILY = "card", "family"
VIEWS = {CARD: "One card", FAMILY: "Family"}
ALL, SECOND_LOOK = "all", "second-look"
_SECOND_LOOK = "Second look"


def controls(state: ReviewState) -> None:
    """What is in the queue, and in which order. No text boxes: they would swallow the keys.

    The keys Q, O and V choose the next entry of each row (see keys.js). The address keeps what is
    chosen, so that a reload comes back to it.
    """
    with reading(state.engine) as session:
        state.has_opinions = has_opinions(session)
    asked = st.query_params.get("type", "") if "type" not in st.session_state else ""
    with st.container(horizontal=True, vertical_alignment="center", key="queue"):
        if state.selection is None:
            chosen, order = _type(state), _order(state)
        else:
            chosen, order = state.type_id or ALL, state.order
            _selection(state)
        view = _choice("View", VIEWS, key="view", value=CARD,
                       help="Family: an anchor with all its variants together. (V)")  # fmt: skip
    if asked.startswith(_SECOND_LOOK) and chosen != SECOND_LOOK and state.second_look_count:
        # The address has the label, whose number was another one when it was written.
        _choose_type(SECOND_LOOK)
    state.go_to(
        type_id=None if chosen in (ALL, SECOND_LOOK) else chosen,
        second_looks=chosen == SECOND_LOOK,
        order=Order(order),
        family=view == FAMILY,
    )


def _type(state: ReviewState) -> str:
    labels = {entry.id: plain(entry.label) for entry in state.types} | {ALL: "All types"}
    if state.second_look_count or state.second_looks:
        labels[SECOND_LOOK] = f"{_SECOND_LOOK} ({state.second_look_count:,})"
    value = SECOND_LOOK if state.second_looks else state.type_id or ALL
    if st.session_state.get("type", value) not in labels:  # retired since it was chosen
        st.session_state["type"] = value
    return _choice("Type", labels, key="type", value=value, help=None)


def _order(state: ReviewState) -> str:
    allowed = {o: label for o, label in ORDERS.items() if not state.blind or o in BLIND_ORDERS}
    doubtful = " Doubtful: what models are unsure of, or contradict."
    if not state.has_opinions:
        allowed.pop(Order.DOUBTFUL, None)
        doubtful = ""
    value = state.order if state.order in allowed else Order.RANDOM
    if st.session_state.get("order", value) not in allowed:
        st.session_state["order"] = value
    return _choice(
        "Order", allowed, key="order", value=value,
        help="Hardest: small Levenshtein distance and high cosine, the pairs an encoder gets "
        f"wrong. Most suspicious: what the diagnostics flag.{doubtful} (O)",
    )  # fmt: skip


def _choice(label: str, options: dict[Any, str], *, key: str, value: str, help: str | None) -> str:
    st.session_state.setdefault(key, value)
    return str(
        st.segmented_control(
            label, list(options), key=key, format_func=lambda option: options[option], help=help,
            label_visibility="collapsed", required=True, bind="query-params",
        )
    )  # fmt: skip


def _selection(state: ReviewState) -> None:
    selection = state.selection
    assert selection is not None
    left = len(selection.open or ())
    with st.container(horizontal=True, vertical_alignment="center", key="selection"):
        st.text(f"{left:,} of {len(selection.ids):,} left; from: {selection.told}")
        if st.button("Leave the selection", width="content"):
            st.query_params.pop(SELECTION, None)
            state.take(None)
            st.rerun()


def progress(state: ReviewState) -> None:
    """A thin bar a type."""
    rows = []
    for entry in state.types:
        counts = state.counts.get(entry.id, {})
        total = sum(n for status, n in counts.items() if status != "superseded")
        current = state.type_id in (entry.id, None)
        rows.append((entry.label, state.pending(entry.id), total, current))
    markup.show(card.progress(rows))


def empty(state: ReviewState) -> None:
    """Nothing left here: say where there is more."""
    if not any(any(counts.values()) for counts in state.counts.values()):
        no_variants.box()
    else:
        _done(state)
    st.button("Undo", key="undo-empty", shortcut="z", on_click=state.undo)


def _done(state: ReviewState) -> None:
    with st.container(border=True, key="empty"):
        if state.skipped:
            st.write(f"Nothing left in this queue but the {len(state.skipped):,} you skipped.")
            st.button("Go through the skipped ones", on_click=state.skipped.clear)
        elif state.selection is not None:
            st.write("Every variant of this selection has been decided.")
        elif state.first_pending_type() is None:
            st.write("Nothing is pending: every variant has been decided.")
            st.page_link("pages/release.py", label="Freeze what is accepted in a release")
        else:
            st.write("Nothing is pending in this queue; the bars below show where there is more.")
            if st.button("Go on with the next type"):
                _choose_type(state.first_pending_type())


_NEXT_TYPE = "review_next_type"


def _choose_type(type_id: str | None) -> None:
    """Draw the page again with this type chosen: a widget that is drawn cannot be changed."""
    st.session_state[_NEXT_TYPE] = type_id
    st.rerun()


def follow_next_type() -> None:
    """Choose what ``_choose_type`` asked for; before the controls are drawn."""
    if chosen := st.session_state.pop(_NEXT_TYPE, None):
        st.session_state["type"] = chosen
