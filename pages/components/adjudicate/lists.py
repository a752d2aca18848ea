"""The two lists of the Adjudicate page: cards to discuss, and settled conflicts."""

import streamlit as st

from curation.decisions.roles import Role
from curation.decisions.status import status_label
from curation.review import discussing
from curation.review.adjudication import settled
from curation.review.browser_window.adjudicating import AdjudicationState
from curation.review.discussing import OpenMark
from pages.components.adjudicate import verdict_cards
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.clock import local
from pages.components.shared.shell import error_messages, open_project, rights
from pages.components.shared.variants import card

AT_MOST = 50
"""Maximum number of entries shown in each list."""


def to_discuss(state: AdjudicationState) -> None:
    """Draw the marked cards, oldest mark first, with buttons to open them and remove marks."""
    marks = open_project.ask(
        discussing.open_marks,
        type_id=state.type_id,
        source_id=state.source_id,
        limit=AT_MOST + 1,
    )
    if not marks:
        with st.container(border=True, key="empty"):
            st.write(
                "No card is marked for discussion. To mark a card, press D on the Review page. "
                "Marking a card does not decide it."
            )
            st.page_link("pages/review.py", label="Review variants", icon=":material/rate_review:")
        return
    labels = open_project.type_names()
    veiled = open_project.ask(state.veiled_ids, [mark.variant_id for mark in marks])
    can_remove = rights.may(Role.REVIEWER)
    for mark in marks[:AT_MOST]:
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", key=f"one-line-{mark.uid}"
        ):
            hidden = mark.variant_id in veiled
            markup.show(card.line(mark.text, _about(mark, labels[mark.type_id], hidden=hidden)))
            st.page_link("pages/review.py", label="Open", query_params={"variant": mark.uid})
            if can_remove:
                st.button(
                    "Remove mark",
                    key=f"lift-{mark.uid}",
                    width="content",
                    on_click=_lift,
                    args=(mark.variant_id, state.reviewer_id),
                    help="Use this after the discussion. To undo it, press Z on a card.",
                )
    if len(marks) > AT_MOST:
        st.caption(f"The {AT_MOST} oldest marks are shown. Remove some to see newer ones.")


def _lift(variant_id: int, reviewer_id: int) -> None:
    with error_messages.message_kept():
        open_project.tell(discussing.lift, variant_id, reviewer_id=reviewer_id)


def _about(mark: OpenMark, label: str, *, hidden: bool) -> str:
    """Describe a mark and its card in one line: when, who, the remark, type and status.

    Args:
        hidden: leave out the remark and the status, which could influence a blind reviewer.
    """
    when = f"{local(mark.marked_at):%d %b %H:%M}"
    about = f"“{mark.remark}”" if mark.remark and not hidden else ""
    status = "" if hidden else status_label(mark.status)
    parts = [when, mark.reviewer, about, label, status]
    return " · ".join(part for part in parts if part)


def settled_conflicts(*, type_id: str | None, source_id: int | None) -> None:
    """Draw the settled conflicts with everybody's verdicts, latest settlement first."""
    found = open_project.ask(settled, type_id=type_id, source_id=source_id, limit=AT_MOST)
    if not found:
        with st.container(border=True, key="empty"):
            st.write("No conflict has been settled yet. Settle one under “In conflict”.")
        return
    labels = open_project.type_names()
    for one in found:
        markup.show(verdict_cards.trail(one, labels[one.type_id]))
    if len(found) == AT_MOST:
        st.caption(f"The latest {AT_MOST} are shown. Choose a type or a source to see others.")
