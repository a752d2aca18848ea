"""Menus for what the Review page shows: queue, type, source, order and view, or a selection."""

from typing import Any

import streamlit as st
from markupsafe import Markup

from curation.decisions.quotas import ALL_TYPES as ALL_TYPES_TOGETHER
from curation.diagnostics.opinions import has_opinions
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.queue_position import BLIND_ORDERS
from curation.review.drafts import Place
from curation.review.queue import Order, Queue
from pages.components.review import toolbar
from pages.components.shared import formatting
from pages.components.shared.links import ALL_SOURCES, ALL_TYPES, QUEUE_SOURCE, QUEUES, SELECTION
from pages.components.shared.shell import open_project

_SHORT = {QUEUES[Queue.MODEL_ONLY]: "Model only"}
"""Short labels for names that are too long for the row."""

ORDERS = {
    Order.OLDEST: "Oldest",
    Order.SUSPICIOUS: "Most suspicious",
    Order.HARDEST: "Hardest",
    Order.RANDOM: "Random",
    Order.DOUBTFUL: "Doubtful",
}
CARD, FAMILY = "card", "family"
VIEWS = {CARD: "One card", FAMILY: "Family"}
ALL = "all"


def controls(state: ReviewState) -> None:
    """Draw the menus for what to review, and in which order.

    There are no text boxes, because they would swallow the keys. The keys U, Q, K, O and V choose
    the next entry of each menu (see ``bind``). The URL keeps the choices across reloads.
    """
    state.has_opinions = open_project.ask(has_opinions)
    state.choices = {}
    _complete_address()
    source_id = state.source_id
    if state.selection is None:
        # The numbers after the labels are drawn with each card (``left_in_menus``).
        queue = choice(
            state,
            "Queue",
            "U",
            QUEUES,
            key="queue",
            value=state.queue,
            help="In conflict: reviewers disagree, and a lead's decision settles it. Accepted by a "
            "model only: no person has decided on it. Second look: its anchor was corrected after "
            "the decision.",
        )
        chosen = type_choice(state)
        source_id, order = chosen_source(state), _order(state)
    else:
        queue, chosen, order = state.queue, state.type_id or ALL, state.order
    view = choice(
        state,
        "View",
        "V",
        VIEWS,
        key="view",
        value=FAMILY if state.by_family else CARD,
        help="Family: an anchor with all its variants.",
    )
    type_id = None if chosen == ALL else chosen
    state.go_to(Place(Queue(queue), type_id, source_id, Order(order), by_family=view == FAMILY))


def _complete_address() -> None:
    """Support old URLs, in which *Second look* was a type; and show all types of a given queue."""
    if "queue" in st.session_state:
        return
    asked = st.query_params.get("type", "")
    if asked.startswith(QUEUES[Queue.SECOND_LOOK]):
        st.session_state["queue"] = Queue.SECOND_LOOK
        st.query_params["queue"] = QUEUES[Queue.SECOND_LOOK]
    elif asked or "queue" not in st.query_params:
        return
    st.session_state["type"] = ALL
    st.query_params["type"] = ALL_TYPES


def type_choice(state: ReviewState, *, key: str = "type") -> str:
    """The id of the chosen type, or ``ALL``."""
    labels = {entry.id: entry.label for entry in state.types} | {ALL: ALL_TYPES}
    value = state.type_id or ALL
    if st.session_state.get(key, value) not in labels:  # retired since then
        st.session_state[key] = value
    return choice(state, "Type", "Q", labels, key=key, value=value, help=None)


def chosen_source(state: ReviewState, *, key: str = QUEUE_SOURCE) -> int | None:
    """The id of the chosen source, None for all. With one source there is no menu."""
    if len(state.sources) < 2:
        return None
    labels = {ALL: ALL_SOURCES} | {str(key): name for key, name in state.sources.items()}
    value = ALL if state.source_id is None else str(state.source_id)
    if st.session_state.get(key, value) not in labels:  # all its variants were retired
        st.session_state[key] = value
    chosen = choice(
        state,
        "Source",
        "K",
        labels,
        key=key,
        value=value,
        help="In every order, your own anchors come before those of the corpora that ship with "
        "Hedgerow.",
    )
    return None if chosen == ALL else int(chosen)


def _order(state: ReviewState) -> str:
    allowed = {o: label for o, label in ORDERS.items() if not state.blind or o in BLIND_ORDERS}
    doubtful = " Doubtful: models are unsure, or their opinions contradict each other."
    if not state.has_opinions:
        allowed.pop(Order.DOUBTFUL, None)
        doubtful = ""
    value = state.order if state.order in allowed else Order.RANDOM
    if st.session_state.get("order", value) not in allowed:
        st.session_state["order"] = value
    return choice(
        state,
        "Order",
        "O",
        allowed,
        key="order",
        value=value,
        help="Hardest: pairs with a small Levenshtein distance and a high cosine, which encoders "
        f"tend to get wrong. Most suspicious: flagged by the diagnostics.{doubtful}",
    )


def choice(
    state: ReviewState,
    label: str,
    letter: str,
    options: dict[Any, str],
    *,
    key: str,
    value: str,
    help: str | None,
) -> str:
    """Draw a menu: a button with the current choice that opens the list. Return the choice.

    Args:
        letter: the key that chooses the next entry.
    """
    st.session_state.setdefault(key, value)
    state.choices[letter.lower()] = (key, list(options))
    with st.container(key=f"menu-{key}", width="content"):
        opener = st.empty()
        chosen = str(
            st.segmented_control(
                label,
                list(options),
                key=key,
                format_func=lambda option: formatting.plain(options[option]),
                help=help,
                required=True,
                bind="query-params",
            )
        )
        with opener:
            name = options[chosen]
            short = _SHORT.get(name, name)
            formatting.emit(toolbar.choice_opener(label, chosen=name, short=short, letter=letter))
    return chosen


def bind(state: ReviewState) -> None:
    """Bind each letter to the next entry of its menu, and with Shift to the previous one."""
    for letter, (key, options) in state.choices.items():
        state.keyboard.bind(letter, _step, state, key, options, 1)
        state.keyboard.bind(f"shift+{letter}", _step, state, key, options, -1)


def _step(state: ReviewState, key: str, options: list[Any], by: int) -> None:
    now = options.index(st.session_state[key])
    st.session_state[key] = options[(now + by) % len(options)]
    state.redraw = True


def selection_left(state: ReviewState) -> None:
    """Draw where the selection comes from, how much is left, and why the rest is not shown."""
    selection = state.selection
    if selection is None:
        return
    left = len(selection.open or ())
    rest = len(selection.ids) - left
    others = "one is" if rest == 1 else f"{rest:,} are"
    why = f" The other {others} decided, replaced by an edit or out of use." if rest else ""
    with st.container(horizontal=True, vertical_alignment="center", key="selection"):
        st.text(
            f"{left:,} of {len(selection.ids):,} left in this selection.{why} "
            f"{selection.description}"
        )
        if st.button("Leave the selection", width="content"):
            st.query_params.pop(SELECTION, None)
            state.take(None)
            st.rerun()


def progress(state: ReviewState, *, focus: str | None = None) -> None:
    """Draw how much is left of each type (for pending variants with a thin bar) and in each queue.

    Args:
        focus: the type of the card, highlighted if the card does not come from a queue.
    """
    reviewed = state.type_id if state.in_queue or focus is None else focus
    rows: list[tuple[str, int, int | None, bool]] = []
    reached = state.reached(state.queue)  # quotas; the line below shows them
    for entry in state.types:
        left, total = state.left_in(state.queue, entry.id), None
        if state.queue is Queue.PENDING and entry.id not in reached:
            counts = state.counts.get(entry.id, {})
            total = sum(n for status, n in counts.items() if status != "superseded")
        if total or left:
            rows.append((entry.label, left, total, reviewed in (entry.id, None)))
    formatting.emit(toolbar.progress_markup(rows) + left_in_menus(state, state.queue))
    if state.workload is not None:
        formatting.emit(toolbar.quietly(quotas_in_words(state)))


def quotas_in_words(state: ReviewState) -> str:
    """The reviewer's progress with their quotas: 'Your quota: verbal 12 of 50'."""
    shares = state.workload.shares() if state.workload is not None else []
    labels = open_project.type_names() | {ALL_TYPES_TOGETHER: "all types"}
    parts = [
        f"{labels.get(one.type_id, one.type_id)} {one.done:,} of {one.quota:,}" for one in shares
    ]
    return f"Your quota: {' · '.join(parts)}" if parts else ""


def left_in_menus(
    state: ReviewState, queue: Queue, *, key: str = "type", source_key: str = QUEUE_SOURCE
) -> Markup:
    """The numbers after the entries of the menus.

    Args:
        key, source_key: the keys of the menus of types and of sources.
    """
    ids = [*(entry.id for entry in state.types), None]
    sources = [None, *state.sources]
    numbers = {
        "queue": [state.left_in(queue) for queue in QUEUES],
        key: [state.left_in(queue, type_id) for type_id in ids],
        source_key: [state.left_of(of, queue, state.type_id) for of in sources],
    }
    chosen = {
        "queue": list(QUEUES).index(queue),
        key: ids.index(state.type_id),
        source_key: sources.index(state.source_id),
    }
    return toolbar.left_markup(numbers, chosen)
