"""Details of a card: origin, notes, history, and the other variants of its anchor."""

import streamlit as st

from curation.decisions.notes import WrittenNote
from curation.decisions.roles import Role
from curation.review.browser_window.details import Details, details_of
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.shown_now import CardView
from db.models import Status, Variant
from pages.components.review import similar_box
from pages.components.review.panels import history_lines
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.clock import local
from pages.components.shared.links import GOLD, GOLD_UID, SECTION
from pages.components.shared.shell import open_project, rights
from pages.components.shared.variants import card


def details(state: ReviewState, view: CardView) -> None:
    """Draw the details. On a blind card, leave out what would reveal other people's verdicts."""
    focus = view.focus
    assert focus is not None
    hidden = focus.variant.id in view.hidden
    known = open_project.ask(details_of, state, focus, hidden=hidden)
    reason = why_hidden(state, focus.variant) if hidden else ""
    with st.container(key="all-details"):
        with st.container(border=True, key="details"):
            left, right = st.columns(2)
            with left:
                st.markdown("**Origin**")
                for part in known.origin:
                    st.text(part)
                if not hidden:  # the link depends on the status
                    _make_gold(state, focus.variant)
                st.markdown("**Notes**")
                _notes(state, known.written, hidden=reason)
            with right:
                st.markdown("**History**")
                _history(known, hidden=reason)
        if st.button("Find similar variants", key="similar-variants"):
            similar_box.similar(state, focus.variant)
        if not state.by_family and known.siblings:
            labels = open_project.type_names()
            others = [(item, labels[item.variant.type_id]) for item in known.siblings]
            markup.show(card.siblings(others, known.veiled))


def _make_gold(state: ReviewState, variant: Variant) -> None:
    """Leads can make any card a gold item, unless they know that it is one."""
    known = variant.id in state.known_gold - state.gold
    if not known and variant.status is not Status.SUPERSEDED and rights.may(Role.LEAD):
        st.page_link(
            "pages/team.py",
            label="Make it a gold item",
            query_params={SECTION: GOLD, GOLD_UID: variant.uid},
        )


def why_hidden(state: ReviewState, variant: Variant) -> str:
    """Why something is hidden, and for how long."""
    if not rights.may(Role.REVIEWER):
        return "Hidden, because this variant is reviewed blind."
    if f",{state.person_id}," in variant.verdicts_by:
        return "Hidden until everybody assigned to this variant has decided."
    return "Hidden until you have decided."


def _notes(state: ReviewState, written: list[WrittenNote], *, hidden: str) -> None:
    seen = [note for note in written if not hidden or note.reviewer == state.reviewer_name]
    for note in seen:
        st.text(f"{local(note.created_at):%Y-%m-%d %H:%M} · {note.reviewer}\n{note.text}")
    if not seen:
        can_add = rights.may(Role.REVIEWER)
        st.text(hidden or ("No notes yet. Press N to add one." if can_add else "No notes yet."))


def _history(known: Details, *, hidden: str) -> None:
    """Draw the decisions, the marks for discussion and the removed notes (without their texts).

    For a second opinion that counts, only say that there is one.
    """
    if hidden:
        st.text(hidden)
        return
    lines = [(decision.decided_at, history_lines.line(decision)) for decision in known.past]
    lines += [(note.created_at, history_lines.removed_note(note)) for note in known.removed]
    lines += [(event.at, history_lines.mark(event)) for event in known.marks]
    for _, line in sorted(lines, key=lambda entry: entry[0]):
        st.text(line)
    for name in known.models:
        st.text(f"{name} has judged this variant, and its verdict counts. Press J to see it.")
    if not lines and not known.models:
        st.text("No decisions yet.")
