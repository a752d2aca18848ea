"""The second opinion on a card: shown to those who ask for it, and a suggestion to take over."""

import streamlit as st
from markupsafe import Markup

from curation.review.actions import ShownCard
from curation.review.browser_window import messages
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.queue_position import Panel
from curation.review.cards import Card
from curation.review.opinions.stored import GivenOpinion, look
from db.errors import HedgerowError
from db.models import Verdict
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.diff import diff, join
from pages.components.shared.shell import open_project

_SAYS = {
    Verdict.ACCEPT: "would accept it",
    Verdict.REJECT: "would reject it",
    Verdict.EDIT: "would edit it",
}


def ask(state: ReviewState, shown: ShownCard) -> None:
    """J: show the opinions on this card, or put them away; who looks is noted.

    A blind reviewer decides first. A key that comes late, for a card that is gone, does nothing.
    """
    if state.typing or state.focus_id is None:
        return
    current = state.showings.get(state.focus_id)
    if current is None or current.action_id != shown.action_id:
        return
    if state.panel is Panel.OPINION:
        state.toggle(Panel.OPINION)
        return
    try:
        found = open_project.tell(
            look, shown.variant_id, reviewer_id=state.reviewer_id, own_first=shown.blind
        )
    except HedgerowError as error:
        state.say(str(error), warn=True)
        return
    state.toggle(Panel.OPINION)
    state.opinions, state.opinions_on = tuple(found), shown.action_id


def draw(state: ReviewState, focus: Card, shown: ShownCard) -> None:
    """The opinions, each with a button to take over what it suggests.

    They are put away when the card has become another one: its anchor was corrected, somebody
    decided on it, or it is blind now.
    """
    if state.opinions_on != shown.action_id:
        state.panel = Panel.NONE
        return
    with st.container(border=True, key="opinions"):
        if not state.opinions:
            st.text("No model has given its opinion on this variant.")
        for number, opinion in enumerate(state.opinions):
            markup.show(_told(opinion, focus.variant.text))
            if opinion.suggestion:
                st.button(
                    "Take the suggestion over",
                    key=f"take-{number}-{shown.action_id}",
                    on_click=state.edit_from,
                    args=(opinion,),
                    help="Opens the editor with it; nothing is decided before you save.",
                )


def _told(opinion: GivenOpinion, text: str) -> Markup:
    certainty = (
        "" if opinion.certainty is None else f"{opinion.certainty:.0%} certain by its own account"
    )
    parts = [_SAYS[opinion.verdict], messages.reason(opinion.reason), certainty]
    rows = [
        Markup('<div class="hg-head"><span class="hg-type">{}</span>{}</div>').format(
            opinion.reviewer, join(Markup("<span>{}</span>").format(part) for part in parts if part)
        ),
        Markup('<div class="hg-definition hg-scroll">{}</div>').format(opinion.comment),
    ]
    if opinion.suggestion:
        _, new = diff(text, opinion.suggestion)
        rows.append(
            Markup(
                '<div class="hg-row hg-variant"><span class="hg-label">Suggestion</span>'
                '<div class="hg-scroll">{}</div></div>'
            ).format(new)
        )
    return Markup('<section aria-label="Second opinion">{}</section>').format(join(rows))
