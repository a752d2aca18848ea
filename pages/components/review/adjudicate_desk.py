"""The Adjudicate desk: the card in conflict, each person's verdict, and a button for each key."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from curation.decisions.history import history
from curation.review.adjudication import ConflictOrder, GivenVerdict, wordings
from curation.review.browser_window import messages
from curation.review.browser_window.adjudicating import AdjudicationState
from curation.review.browser_window.queue_position import Panel
from curation.review.cards import Card
from curation.review.deciding import ShownCard
from curation.review.discussing import OpenMark, open_marks
from curation.review.queue import Queue
from db.models import Status
from pages.components.review import (
    adjudicate_lists,
    below_card,
    empty_queue,
    keys,
    queue_choice,
    toolbar,
)
from pages.components.review import desk as review_desk
from pages.components.shared import card, formatting, links
from pages.components.shared.shell import error_messages, open_project

TYPE, SOURCE, ORDER = "conflict-type", "conflict-source", "conflict-order"
"""Keys of the menus, which are also their names in the URL."""

_ORDERS: dict[Any, str] = {
    ConflictOrder.OLDEST: "Oldest",
    ConflictOrder.DISPUTED: "Most disputed",
}

_KEYS = (
    ("A", "accept the variant as it is"),
    ("1 … 8", "reject it for that reason"),
    ("X, then a digit", "reject it for that reason, with a note; Ctrl+Enter saves"),
    ("0", "reject it for another reason, which you write in a note"),
    ("E", "accept an edited wording in its place; if there are several, a digit chooses one"),
    ("S", "skip"),
    ("Z", "undo, as many steps as you like"),
    (
        "D",
        "mark the card for discussion, with an optional remark; if it is marked, remove the mark",
    ),
    ("L", "show your latest decisions; you can undo any of them"),
    ("P", "copy the card's permalink"),
    ("Q, K, O", "go to the next type, source or order; with Shift, to the previous one"),
    ("Esc", "close the open panel; what you typed is kept"),
    ("H", "show or hide these keys"),
)


def controls(state: AdjudicationState, *, with_order: bool) -> None:
    """Draw the menus for the type, source and order of the conflicts. The URL keeps the choice.

    Args:
        with_order: also offer the order; the two lists have a fixed one.
    """
    state.choices = {}
    chosen = queue_choice.type_choice(state, key=TYPE)
    source_id = queue_choice.chosen_source(state, key=SOURCE)
    order: str = state.conflict_order
    if with_order:
        order = queue_choice.choice(
            state,
            "Order",
            "O",
            _ORDERS,
            key=ORDER,
            value=state.conflict_order,
            help="Most disputed: variants on which the most people contradict the majority come "
            "first.",
        )
    state.choose(
        type_id=None if chosen == queue_choice.ALL else chosen,
        source_id=source_id,
        order=ConflictOrder(order),
    )


@error_messages.fragment
def desk(state: AdjudicationState) -> None:
    """Draw the card to settle now. A key press redraws only this part."""
    view = review_desk.current_view(state)
    focus = view.focus
    if focus is None:
        review_desk.message(state)
        empty_queue.show(state, none_left=nothing_left)
        keys.listen(state)
        return
    shown = state.showings[focus.variant.id]
    hidden = focus.variant.id in view.hidden
    given = [] if hidden else state.verdicts(focus.variant.id)
    with st.container(key="desk-card"):
        marks = open_project.ask(open_marks, focus.variant.id)
        _card(state, focus, given, marks, hidden=hidden)
        review_desk.message(state)
        with st.container(key="keys"):
            review_desk.editor_message(state)
            _buttons(state, focus, shown, has_edit=bool(wordings(given)), is_marked=bool(marks))
        if state.panel is Panel.WORDING:
            _wordings(state, shown, given)
        elif state.panel is Panel.KEYS:
            with st.container(key="keys-list"):
                st.table([{"Key": key, "What it does": meaning} for key, meaning in _KEYS])
        else:
            below_card.draw(state, focus, shown)
        _left(state)
    keys.listen(state)
    state.drawn_now()


def _card(
    state: AdjudicationState,
    focus: Card,
    given: list[GivenVerdict],
    marks: Sequence[OpenMark],
    *,
    hidden: bool,
) -> None:
    entry = open_project.every_type()[focus.variant.type_id]
    notice = review_desk.marked(marks, hidden=hidden)
    if not given or focus.variant.status != Status.CONFLICT:
        past = open_project.ask(history, focus.variant.id)
        disagreement = messages.disagreement(past, focus.variant.status)
        notice = card.notice(_reason_shown(state, focus, disagreement))
    formatting.emit(
        card.card(focus, entry, threshold=state.threshold, hidden=hidden, notice=notice)
    )
    formatting.emit(adjudicate_lists.side_by_side(given, focus.variant.text, focus.variant.type_id))


def _reason_shown(state: AdjudicationState, focus: Card, disagreement: str) -> str:
    """Why the page shows a card that is no longer in conflict: an undo returned to it."""
    if state.showings[focus.variant.id].settles:
        return disagreement
    return "This variant is not in conflict, so your decision counts as an ordinary verdict."


def _buttons(
    state: AdjudicationState, focus: Card, shown: ShownCard, *, has_edit: bool, is_marked: bool
) -> None:
    """Draw a button for each key. While the reviewer types, letters are text and all buttons are
    disabled.

    Args:
        has_edit: somebody has edited the variant, so there is an edit to accept.
        is_marked: the variant is marked for discussion.
    """
    button = partial(review_desk.key_button, state, shown)
    with st.container(horizontal=True, key="decide", gap="small"):
        label = review_desk.label_of
        button(label("Accept", shown), "a", state.accept, shown, kind="primary")
        button(label("Reject with a note", shown), "x", state.toggle, Panel.REASON)
        if has_edit:
            button(label("Accept the edit", shown), "e", state.choose_wording, shown)
        elif not (state.typing or state.choosing):
            state.keyboard.bind("e", state.choose_wording, shown, of_card=True)  # it says why not
        button("Skip", "s", state.skip, shown)
        button("Undo", "z", state.undo)
        button(review_desk.discuss_label(is_marked), "d", state.discuss, shown)
        button("Decisions", "l", state.toggle, Panel.LAST, kind="tertiary")
        button("Keys", "h", state.toggle, Panel.KEYS, kind="tertiary")
    if not state.typing and state.panel is not Panel.WORDING:
        entry = open_project.every_type()[focus.variant.type_id]
        review_desk.reasons(state, shown, entry, with_family=False)


def _wordings(state: AdjudicationState, shown: ShownCard, given: list[GivenVerdict]) -> None:
    """Offer the wordings of several edits; a digit accepts one of them."""
    st.caption("Which wording do you accept?")
    with st.container(key="wordings", gap="small"):
        for number, wording in enumerate(wordings(given)[:9], start=1):
            state.keyboard.bind(str(number), state.take_wording, shown, wording, of_card=True)
            st.button(
                formatting.plain(wording.text),
                key=f"{number}-wording-{shown.action_id}",
                on_click=state.take_wording,
                args=(shown, wording),
            )


def _left(state: AdjudicationState) -> None:
    """Show the number of conflicts for each type, and in the menus."""
    rows = [
        (entry.label, left, None, state.type_id in (entry.id, None))
        for entry in state.types
        if (left := state.left_in(Queue.CONFLICT, entry.id))
    ]
    numbers = queue_choice.left_in_menus(state, Queue.CONFLICT, key=TYPE, source_key=SOURCE)
    formatting.emit(toolbar.progress_markup(rows) + numbers)


# -- What the Adjudicate page shows when no conflict is left --------------------------------------


def nothing_left(state: AdjudicationState) -> None:
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
    links.to_review("Review pending variants", queue=Queue.PENDING)
