"""Details of a card: origin, notes, history, the other variants of its anchor."""

import streamlit as st
from sqlalchemy.orm import Session

from curation.generation.run_report import written_by
from curation.review.history import PastDecision, history
from curation.review.notes import WrittenNote, notes, removed_notes
from curation.review.opinions.stored import counting_judges
from curation.review.queue import Card, family
from db.engine import reading
from db.models import Variant
from pages.components.review.window import messages
from pages.components.review.window.key_actions import ReviewState
from pages.components.review.window.shown_now import View
from pages.components.shared.shell import open_project
from pages.components.shared.texts import markup
from pages.components.shared.texts.clock import local
from pages.components.shared.variants import card


def details(state: ReviewState, view: View) -> None:
    """Draw them; while a card is blind, only what says nothing of others' verdicts."""
    focus = view.focus
    assert focus is not None
    hidden = focus.variant.id in view.hidden
    with reading(state.engine) as session:
        past = history(session, focus.variant.id)
        written = notes(session, focus.variant.id)
        removed = removed_notes(session, focus.variant.id)
        origin = _origin(session, focus, hidden=hidden)
        others = _siblings(session, focus)
        models = counting_judges(session, focus.variant.id)
        veiled = state.veiled(session, [item.variant for item, _ in others])
    with st.container(border=True, key="details"):
        left, right = st.columns(2)
        with left:
            st.markdown("**Origin**")
            for part in origin:
                st.text(part)
            st.markdown("**Notes**")
            _notes(state, written, hidden=hidden)
        with right:
            st.markdown("**History**")
            _history(past, removed, models, hidden=hidden)
    if not state.by_family and others:
        markup.show(card.siblings(others, veiled))


def _origin(session: Session, focus: Card, *, hidden: bool) -> list[str]:
    """Where the anchor and the variant come from; who wrote it could sway a blind reader."""
    variant = focus.variant
    if hidden:
        return [focus.source]
    parts = [focus.source, variant.provider, variant.model]
    said = [" · ".join(part for part in dict.fromkeys(parts) if part)]
    if prompt := written_by(session, variant):
        said.append(prompt)
    if variant.parent_id is not None:
        said.append(f"Made by an edit of {session.get_one(Variant, variant.parent_id).uid}.")
    if focus.made_for != focus.anchor:
        said.append(f"Made for an earlier wording of the anchor: {focus.made_for}")
    return said


def _notes(state: ReviewState, written: list[WrittenNote], *, hidden: bool) -> None:
    seen = [note for note in written if not hidden or note.reviewer == state.reviewer_name]
    for note in seen:
        st.text(f"{local(note.created_at):%Y-%m-%d %H:%M} · {note.reviewer}\n{note.text}")
    if not seen:
        st.text("Hidden until you have decided." if hidden else "No note yet; N adds one.")


def _history(
    past: list[PastDecision], removed: list[WrittenNote], models: list[str], *, hidden: bool
) -> None:
    """What was decided, and that a note was taken back, but not what it said.

    Of a second opinion that counts, only that there is one.
    """
    if hidden:
        st.text("Hidden until you have decided.")
        return
    lines = [(decision.decided_at, messages.line(decision)) for decision in past]
    lines += [(note.created_at, messages.removed_note(note)) for note in removed]
    for _, line in sorted(lines, key=lambda entry: entry[0]):
        st.text(line)
    for name in models:
        st.text(f"{name} counts, and has judged it; J shows how.")
    if not lines and not models:
        st.text("No decision yet.")


def _siblings(session: Session, focus: Card) -> list[tuple[Card, str]]:
    """The other variants of the anchor that are in use, each with its type's label."""
    labels = open_project.type_names()
    return [
        (item, labels[item.variant.type_id])
        for item in family(session, focus.variant.anchor_id)
        if item.stands_beside(focus)
    ]
