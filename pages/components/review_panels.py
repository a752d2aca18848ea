"""What opens below the card: editor, rejection with a note, retyping, details, keys."""

import streamlit as st

from curation.queue import Card, PastDecision, family, history
from curation.review import MAX_NOTE, MAX_TEXT, Shown
from curation.taxonomy import REJECT_REASONS
from db.engine import reading
from db.models import Status
from pages.components import card, markup
from pages.components.review_state import Panel, ReviewState

_REASONS = {reason.id: reason.label.lower() for reason in REJECT_REASONS}

KEYS = (
    ("A", "accept"),
    ("1 … 8", "reject for that reason"),
    ("X or 0", "reject with a note"),
    ("F", "reject the whole family: the anchor is unsuitable"),
    ("E", "edit the text, with its cue and type; Ctrl+Enter saves"),
    ("T", "retype: keep the text, change its type"),
    ("S", "skip"),
    ("Z", "undo, as often as you like"),
    ("G", "details: siblings, guideline, origin, history"),
    ("↑ ↓", "another card of the family (family view)"),
    ("Esc", "close the editor; what you wrote is there when you open it again"),
    ("H", "show or hide these keys"),
)


def draw(state: ReviewState, focus: Card, shown: Shown) -> None:
    """Draw the open panel, if one is open."""
    if state.panel is Panel.EDIT:
        _editor(state, focus, shown)
    elif state.panel is Panel.REJECT:
        _rejection(state, shown)
    elif state.panel is Panel.RETYPE:
        _retype(state, focus, shown)
    elif state.panel is Panel.KEYS:
        st.table([{"Key": key, "What it does": meaning} for key, meaning in KEYS])


def _editor(state: ReviewState, focus: Card, shown: Shown) -> None:
    """One action: the original becomes superseded, what is written here is accepted."""
    labels = {entry.id: entry.label for entry in state.types}
    needs_cue = any(e.needs_cue for e in state.types if e.id == focus.variant.type_id)
    with (
        st.container(key=f"type-here-{shown.action_id}"),
        st.form(f"edit-{shown.action_id}", enter_to_submit=True),
    ):
        text = st.text_area(
            "New wording", focus.variant.text, max_chars=MAX_TEXT, key=f"text-{shown.action_id}"
        )
        columns = st.columns(3 if needs_cue else 2)
        type_id = columns[0].selectbox(
            "Type", list(labels), index=list(labels).index(focus.variant.type_id),
            format_func=lambda key: labels[key],
        )  # fmt: skip
        note = columns[1].text_input("Note", max_chars=MAX_NOTE)
        cue = (
            columns[2].text_input("Hedge cue", focus.variant.cue or "", max_chars=200)
            if needs_cue
            else None
        )
        with st.container(horizontal=True):
            save = st.form_submit_button("Save (Ctrl+Enter)", type="primary")
            cancel = st.form_submit_button("Cancel (Esc)", key=f"cancel-{shown.action_id}")
    if save:
        state.edit(shown, text=text, type_id=type_id, cue=cue, note=note)
    if cancel:
        state.toggle(Panel.EDIT)
    if save or cancel:
        st.rerun(scope="fragment")


def _rejection(state: ReviewState, shown: Shown) -> None:
    reasons = {r.id: f"{r.digit} {r.label}" for r in REJECT_REASONS if r.id != "anchor_unsuitable"}
    with (
        st.container(key=f"type-here-{shown.action_id}"),
        st.form(f"reject-{shown.action_id}", enter_to_submit=True),
    ):
        note = st.text_area("Note", max_chars=MAX_NOTE, key=f"note-{shown.action_id}")
        reason = st.pills(
            "Reason", list(reasons), default="other", format_func=lambda key: reasons[key]
        )
        with st.container(horizontal=True):
            save = st.form_submit_button("Reject (Ctrl+Enter)", type="primary")
            cancel = st.form_submit_button("Cancel (Esc)", key=f"cancel-{shown.action_id}")
    if save:
        state.reject(shown, reason or "other", note)
    if cancel:
        state.toggle(Panel.REJECT)
    if save or cancel:
        st.rerun(scope="fragment")


def _retype(state: ReviewState, focus: Card, shown: Shown) -> None:
    st.caption("A good sentence, but of another type. It is of the type:")
    with st.container(horizontal=True, gap="small", key="retype"):
        for number, entry in enumerate(state.types, start=1):
            st.button(
                entry.label,
                key=f"retype-{entry.id}-{shown.action_id}",
                shortcut=str(number) if number < 10 else None,
                help=entry.definition,
                disabled=entry.id == focus.variant.type_id,
                on_click=state.edit,
                args=(shown,),
                kwargs={"type_id": entry.id},
            )


def _siblings(state: ReviewState, focus: Card) -> list[tuple[Card, str]]:
    """The other variants of the anchor that no edit has replaced, each with its type's label."""
    labels = {entry.id: entry.label for entry in state.types}
    with reading(state.engine) as session:
        cards = family(session, focus.variant.anchor_id)
    return [
        (item, labels[item.variant.type_id])
        for item in cards
        if item.variant.id != focus.variant.id and item.variant.status != Status.SUPERSEDED
    ]


def details(state: ReviewState, focus: Card) -> None:
    """Siblings, guideline, origin and history of the card."""
    with reading(state.engine) as session:
        past = history(session, focus.variant.id or 0)
    entry = next(e for e in state.types if e.id == focus.variant.type_id)
    left, right = st.columns(2)
    with left:
        markup.show(card.guideline(entry))
    with right.container(border=True):
        st.markdown("**Origin**")
        origin = [focus.source, focus.variant.provider, focus.variant.model]
        st.text(" · ".join(part for part in dict.fromkeys(origin) if part))
        if focus.variant.parent_id is not None:
            st.text("Made by an edit.")
        st.markdown("**History**")
        if not past:
            st.text("No decision yet.")
        for decision in past:
            st.text(_line(decision))
    if not state.by_family and (others := _siblings(state, focus)):
        markup.show(card.siblings(others))


def _line(decision: PastDecision) -> str:
    reason = _REASONS.get(decision.reason, decision.reason)
    when = f"{decision.decided_at:%Y-%m-%d %H:%M}"
    parts = [when, decision.reviewer, decision.verdict.value, reason, decision.note]
    if decision.retracted:
        parts.append("(taken back)")
    return " · ".join(part for part in parts if part)
