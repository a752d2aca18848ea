"""Details of a card: origin, notes, history, its anchor's other variants, a second opinion."""

import streamlit as st
from markupsafe import Markup

from curation.decisions.history import PastDecision
from curation.decisions.notes import WrittenNote
from curation.diagnostics.opinions import GivenOpinion, show_opinions
from curation.review.browser_window import messages
from curation.review.browser_window.details import Details, details_of
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.messages import reason
from curation.review.browser_window.queue_position import Panel
from curation.review.browser_window.shown_now import CardView
from curation.review.cards import Card
from curation.review.deciding import ShownCard
from curation.review.discussing import MarkEvent
from db.errors import HedgerowError
from db.models import MarkKind, Status, TeamRole, Variant, Verdict
from pages.components.review import search_box
from pages.components.shared import card, formatting, links
from pages.components.shared.shell import current_user, open_project


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
            search_box.similar(state, focus.variant)
        if not state.by_family and known.siblings:
            labels = open_project.type_names()
            others = [(item, labels[item.variant.type_id]) for item in known.siblings]
            formatting.emit(card.siblings(others, known.hidden))


def _make_gold(state: ReviewState, variant: Variant) -> None:
    """Leads can make any card a gold item, unless they know that it is one."""
    known = variant.id in state.known_gold - state.gold
    if not known and variant.status is not Status.SUPERSEDED and current_user.may(TeamRole.LEAD):
        st.page_link(
            "pages/team.py",
            label="Make it a gold item",
            query_params={links.SECTION: links.GOLD, links.GOLD_UID: variant.uid},
        )


def why_hidden(state: ReviewState, variant: Variant) -> str:
    """Why something is hidden, and for how long."""
    if not current_user.may(TeamRole.REVIEWER):
        return "Hidden, because this variant is reviewed blind."
    if f",{state.person_id}," in variant.verdicts_by:
        return "Hidden until everybody assigned to this variant has decided."
    return "Hidden until you have decided."


def _notes(state: ReviewState, written: list[WrittenNote], *, hidden: str) -> None:
    seen = [note for note in written if not hidden or note.reviewer == state.reviewer_name]
    for note in seen:
        st.text(
            f"{formatting.local(note.created_at):%Y-%m-%d %H:%M} · {note.reviewer}\n{note.text}"
        )
    if not seen:
        can_add = current_user.may(TeamRole.REVIEWER)
        st.text(hidden or ("No notes yet. Press N to add one." if can_add else "No notes yet."))


def _history(known: Details, *, hidden: str) -> None:
    """Draw the decisions, the marks for discussion and the removed notes (without their texts).

    For a second opinion that counts, only say that there is one.
    """
    if hidden:
        st.text(hidden)
        return
    lines = [(decision.decided_at, history_line(decision)) for decision in known.past]
    lines += [(note.created_at, removed_note(note)) for note in known.removed]
    lines += [(event.at, mark_line(event)) for event in known.marks]
    for _, line in sorted(lines, key=lambda entry: entry[0]):
        st.text(line)
    for name in known.models:
        st.text(f"{name} has judged this variant, and its verdict counts. Press J to see it.")
    if not lines and not known.models:
        st.text("No decisions yet.")


# -- The history of a card, one line per entry, in the browser's time zone ------------------------


def history_line(decision: PastDecision) -> str:
    """A line for a decision."""
    when = f"{formatting.local(decision.decided_at):%Y-%m-%d %H:%M}"
    verdict = f"settled: {decision.verdict}" if decision.settles else decision.verdict.value
    parts = [when, decision.reviewer, verdict, reason(decision.reason)]
    parts.append(decision.note)
    if decision.cue:
        parts.append(f"cue '{decision.cue.before or ''}' → '{decision.cue.after or ''}'")
    if decision.blind:
        parts.append("(blind)")
    if decision.retracted:
        parts.append("(undone)")
    elif not decision.counts:
        parts.append("(on the anchor's earlier text)")
    return " · ".join(part for part in parts if part)


def removed_note(note: WrittenNote) -> str:
    """A line for a note that its writer has removed."""
    return (
        f"{formatting.local(note.created_at):%Y-%m-%d %H:%M} · {note.reviewer} · note · (removed)"
    )


def mark_line(event: MarkEvent) -> str:
    """A line for a mark for discussion, or for its removal."""
    when = f"{formatting.local(event.at):%Y-%m-%d %H:%M}"
    marked = event.kind is MarkKind.MARK
    what = "marked for discussion" if marked else "removed the mark for discussion"
    parts = [when, event.reviewer, what, event.remark, "(undone)" if event.undone else ""]
    return " · ".join(part for part in parts if part)


# -- second opinion -------------------------------------------------------------------------------


_VERDICTS = {
    Verdict.ACCEPT: "would accept it",
    Verdict.REJECT: "would reject it",
    Verdict.EDIT: "would edit it",
}


def ask_for_opinion(state: ReviewState, shown: ShownCard) -> None:
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


def second_opinion(state: ReviewState, focus: Card, shown: ShownCard) -> None:
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
            formatting.emit(_opinion(opinion, focus.variant.text))
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
            opinion.reviewer,
            formatting.join(Markup("<span>{}</span>").format(part) for part in parts if part),
        ),
        Markup('<div class="hg-definition hg-scroll">{}</div>').format(opinion.comment),
    ]
    if opinion.suggestion:
        _, new = formatting.diff(text, opinion.suggestion)
        rows.append(
            Markup(
                '<div class="hg-row hg-variant"><span class="hg-label">Suggestion</span>'
                '<div class="hg-scroll">{}</div></div>'
            ).format(new)
        )
    return Markup('<section aria-label="Second opinion">{}</section>').format(formatting.join(rows))
