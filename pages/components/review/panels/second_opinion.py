"""The second opinion on a card, shown to reviewers who ask for it, with its suggested edit."""

import streamlit as st
from markupsafe import Markup

from curation.diagnostics.opinions import GivenOpinion, show_opinions
from curation.review.actions import ShownCard
from curation.review.browser_window import messages
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.queue_position import Panel
from curation.review.cards import Card
from db.errors import HedgerowError
from db.models import Verdict
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.diff import diff, join
from pages.components.shared.shell import open_project

_VERDICTS = {
    Verdict.ACCEPT: "would accept it",
    Verdict.REJECT: "would reject it",
    Verdict.EDIT: "would edit it",
}


def ask(state: ReviewState, shown: ShownCard) -> None:
    """J: show or hide the opinions on this card, and store who has seen them.

    A blind reviewer must decide first. A late key press, for a card that is gone, does nothing.
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
            show_opinions, shown.variant_id, reviewer_id=state.reviewer_id, own_first=shown.blind
        )
    except HedgerowError as error:
        state.say(str(error), warn=True)
        return
    state.toggle(Panel.OPINION)
    state.opinions, state.opinions_on = tuple(found), shown.action_id


def draw(state: ReviewState, focus: Card, shown: ShownCard) -> None:
    """Draw the opinions, each with a button to edit from its suggestion.

    The panel closes when the card has changed: its anchor was corrected, somebody decided on it, or
    it is now blind.
    """
    if state.opinions_on != shown.action_id:
        state.panel = Panel.NONE
        return
    with st.container(border=True, key="opinions"):
        if not state.opinions:
            st.text("No model has given an opinion on this variant.")
        for number, opinion in enumerate(state.opinions):
            markup.show(_opinion(opinion, focus.variant.text))
            if opinion.suggestion:
                st.button(
                    "Edit from this suggestion",
                    key=f"take-{number}-{shown.action_id}",
                    on_click=state.edit_from,
                    args=(opinion,),
                    help="Opens the editor with the suggested wording. Nothing is decided until "
                    "you save.",
                )


def _opinion(opinion: GivenOpinion, text: str) -> Markup:
    certainty = "" if opinion.certainty is None else f"stated confidence {opinion.certainty:.0%}"
    parts = [_VERDICTS[opinion.verdict], messages.reason(opinion.reason), certainty]
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
