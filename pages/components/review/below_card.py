"""Panels below the card: rejection notes, types, notes, your latest decisions, keys."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import streamlit as st

from curation.decisions.history import OwnAction, last_actions
from curation.decisions.shown_card import MAX_NOTE
from curation.formatting import counted
from curation.review.browser_window import messages
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.queue_position import Panel
from curation.review.cards import Card
from curation.review.deciding import ShownCard
from curation.taxonomy.reject_reasons import reject_reason
from pages.components.review import editors
from pages.components.shared import card, formatting
from pages.components.shared.shell import open_project

LAST = 10
"""Number of decisions that L lists."""

_OPINION = "J"
"""This key, like its button, is active only if a model has given opinions."""

KEYS = (
    ("A", "accept; on a card in conflict, A and the digits settle it"),
    ("1 … 8", "reject for the reason with that number; 2 is for negations only, 8 for hedges only"),
    ("X, then a digit", "reject for the reason with that number and add a note; Ctrl+Enter saves"),
    ("0", "reject for another reason, which you write in a note"),
    ("F", "reject the whole family, because its anchor is unsuitable"),
    ("E", "edit the text, its type or its cue; Ctrl+Enter saves"),
    ("T, then a digit", "change the type and keep the text; press 0 for more types"),
    ("W", "write a variant of your own for this anchor"),
    ("N", "add a note without deciding; in an empty queue, follow the first suggestion"),
    (
        "D",
        "mark the card for discussion, with an optional remark; if it is marked, remove the mark",
    ),
    ("S", "skip"),
    ("Z", "undo, as many steps as you like"),
    ("L", "show your latest decisions; you can undo any of them"),
    (_OPINION, "show a model's second opinion"),
    ("/", "search anchors, variants and notes"),
    ("G", "show details: origin, notes, history, other variants"),
    ("I", "show the guideline next to the card"),
    ("B", "hide diagnostics, notes and other verdicts until you have decided (blind)"),
    ("P", "copy the card's permalink"),
    (
        "U, Q, K, O, V",
        "go to the next queue, type, source, order or view; with Shift, to the previous one",
    ),
    ("↑ ↓", "go to the previous or next card of the family (family view)"),
    ("Esc", "close the open panel; what you typed is kept"),
    ("H", "show or hide these keys"),
)


def draw(state: ReviewState, focus: Card, shown: ShownCard) -> None:
    """Draw the open panel, if one is open."""
    if state.panel is Panel.EDIT:
        editors.edit(state, focus, shown)
    elif state.panel in (Panel.REJECT, Panel.NOTE, Panel.DISCUSS):
        _remark(state, shown)
    elif state.panel is Panel.RETYPE:
        _retype(state, focus, shown)
    elif state.panel is Panel.WRITE:
        editors.own(state, focus, shown)
    elif state.panel is Panel.LAST:
        _last(state)
    elif state.panel is Panel.KEYS:
        keys = [key for key in KEYS if key[0] != _OPINION or state.has_opinions]
        with st.container(key="keys-list"):
            st.table([{"Key": key, "What it does": meaning} for key, meaning in keys])


class _Remark(NamedTuple):
    """A panel with one text box.

    Attributes:
        also: fields that a draft contains besides the text.
    """

    label: str
    caption: str
    save_label: str
    save: Callable[[str], None]
    also: Mapping[str, str] = MappingProxyType({})


def _panel(state: ReviewState, shown: ShownCard) -> _Remark:
    """The open panel with a text box."""
    if state.panel is Panel.NOTE:
        return _Remark(
            "Note on this variant",
            "A note is not a decision. Everybody can read it and see your name.",
            save_label="Add note",
            save=lambda text: state.note(shown, text),
        )
    if state.panel is Panel.DISCUSS:
        return _Remark(
            "What do you want to discuss? (optional)",
            "A mark is not a decision. The card stays under 'To discuss' on the Adjudicate page "
            "until somebody removes the mark or settles the variant.",
            save_label="Mark for discussion",
            save=lambda text: state.mark(shown, text),
        )
    reason = reject_reason(state.reason)  # a digit has chosen it
    return _Remark(
        "Note",
        f"Reject: {reason.label.lower()}. {reason.explanation}",
        save_label="Reject",
        save=lambda text: state.reject(shown, state.reason, text),
        also={"reason": state.reason},
    )


def _remark(state: ReviewState, shown: ShownCard) -> None:
    """Draw a panel with a text box.

    It is not a form, so that each pause saves the text (see editors.py).
    """
    panel, key = _panel(state, shown), f"remark-{state.form_id}"
    with st.container(key=f"type-here-{state.form_id}"):
        st.caption(panel.caption)
        draft = state.drafts.begin(state.form_id, shown.variant_id, state.draft_kind)
        text = st.text_area(panel.label, draft.get("text", ""), max_chars=MAX_NOTE, key=key)
        untouched = {"text": "", **panel.also}
        fields = untouched | {"text": text or ""}
        state.keep_draft(shown.variant_id, fields, untouched=untouched)
        editors.buttons(
            state, shown, panel.save_label, lambda: panel.save(st.session_state[key] or "")
        )


TYPES_A_PAGE = 9
"""Number of types that T offers at once, each with a digit; 0 shows the next ones."""


def _retype(state: ReviewState, focus: Card, shown: ShownCard) -> None:
    st.caption("The sentence is good but has the wrong type. The right type is:")
    pages = -(-len(state.types) // TYPES_A_PAGE)
    first = state.retype_page % pages * TYPES_A_PAGE
    with st.container(horizontal=True, gap="small", key="retype"):
        for number, entry in enumerate(state.types[first : first + TYPES_A_PAGE], start=1):
            is_now = entry.id == focus.variant.type_id
            if not is_now:
                state.keyboard.bind(str(number), state.retype, shown, entry.id, of_card=True)
            st.button(
                formatting.plain(entry.label),
                key=f"retype-{entry.id}-{shown.action_id}",
                help=formatting.plain(entry.definition),
                disabled=is_now,
                on_click=state.retype,
                args=(shown, entry.id),
            )
        if pages > 1:
            state.keyboard.bind("0", state.next_types)
            st.button(
                "More types",
                key="retype-more",
                type="tertiary",
                on_click=state.next_types,
            )


def _last(state: ReviewState) -> None:
    """The reviewer's latest decisions, each with buttons to show its card and to undo it."""
    actions = open_project.ask(last_actions, state.reviewer_id, limit=LAST)
    labels = open_project.type_names()
    with st.container(border=True, key="last"):
        if not actions:
            st.text("You have not decided on anything yet.")
        for action in actions:
            with st.container(
                horizontal=True,
                vertical_alignment="center",
                gap="small",
                key=f"one-line-{action.action_id}",
            ):
                label = labels.get(action.type_id, action.type_id)
                formatting.emit(card.line(_summary(action, label)))
                st.button(
                    "Show",
                    key=f"show-{action.action_id}",
                    width="content",
                    on_click=state.pin,
                    args=(action.variant_id,),
                )
                st.button(
                    "Undo",
                    key=f"back-{action.action_id}",
                    width="content",
                    on_click=state.take_back,
                    args=(action.action_id,),
                )


def _summary(action: OwnAction, label: str) -> str:
    """A decision in one line: when, verdict, reason, type, and the shortened text."""
    text = action.text if len(action.text) <= 90 else action.text[:89] + "…"
    others = action.decisions - 1
    more = f" and {counted(others, 'other decision')}" if others else ""
    parts = [
        f"{formatting.local(action.decided_at):%d %b %H:%M}",
        f"{action.verdict}{more}",
        messages.reason(action.reason),
        label,
        text,
    ]
    return " · ".join(part for part in parts if part)
