"""Practice: gold items decided with the Review page's keys, with feedback, and its offer."""

from collections.abc import Callable
from typing import Literal

import streamlit as st
from markupsafe import Markup

from curation.formatting import counted
from curation.project.settings import THRESHOLD, get_setting
from curation.review.browser_window.messages import reason as reason_text
from curation.review.cards import card
from curation.review.gold.items import Gold
from curation.review.gold.practice import (
    PracticeRound,
    PracticeState,
    PracticeView,
    Score,
    must_practise,
    offered,
)
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.guideline import parse_guideline, passage
from curation.taxonomy.reject_reasons import REJECT_REASONS, reject_reason
from db.models import TeamRole, Verdict
from pages.components.review import keys
from pages.components.shared import card as card_view
from pages.components.shared import formatting, guidance, links
from pages.components.shared.shell import current_user, error_messages, open_project

_STATE = "practice"

_ANSWERED = {
    Verdict.ACCEPT: "accepted it",
    Verdict.REJECT: "rejected it",
    Verdict.EDIT: "would edit it",
}
_RIGHT = {Verdict.ACCEPT: "It should be accepted", Verdict.REJECT: "It should be rejected"}

_FAMILY = "anchor_unsuitable"
"""Its key is F, as on the Review page."""


def draw() -> None:
    """Draw the section."""
    me = current_user.reviewer_id()
    if me is None:
        st.write("Your answers are stored under your name, so that you can continue later.")
        current_user.name_form("Your name", key="signin-practice", button="Start practising")
        return
    if not current_user.may(TeamRole.REVIEWER):
        st.write("Only reviewers and leads can practise. Ask a lead for that role.")
        return
    state = st.session_state.get(_STATE)
    if state is None or state.reviewer_id != me:
        state = PracticeState(open_project.engine(), me)
        st.session_state[_STATE] = state
    _desk(state)


@error_messages.fragment
def _desk(state: PracticeState) -> None:
    """Show the current item, or the score. A key redraws only this part."""
    view = state.view()
    if view.item is not None:
        _item(state, view)
    elif view.round.items:
        _score(state, view.round)
    else:
        links.nothing(
            "There are no cards for you to practise on. Under Gold items, a lead can add items "
            "for practice rounds. Items that you added yourself are left out."
        )
    keys.listen(state)


def _item(state: PracticeState, view: PracticeView) -> None:
    assert view.item is not None and view.card is not None
    entry = open_project.every_type()[view.item.type_id]
    threshold = int(open_project.ask(get_setting, THRESHOLD))
    with st.container(horizontal=True, key="desk"):
        with st.container(key="desk-card"):
            _progress(view)
            formatting.emit(card_view.card(view.card, entry, threshold=threshold))
            if view.answer is None:
                _buttons(state, view, view.item, entry)
            else:
                _feedback(state, view, view.item)
        with st.container(key="desk-guide"):
            if view.answer is None:
                formatting.emit(guidance.guide(entry))
            else:
                _passage(view.item, entry)


def _progress(view: PracticeView) -> None:
    """Show the number of the item, and the score so far."""
    score, total = view.round.score(), len(view.round.items)
    number = score.answered + (view.answer is None)
    again = f"Round {view.round.number}, card" if view.round.number > 1 else "Card"
    so_far = f" {_right(score)} so far." if score.answered else ""
    start = (
        ""
        if score.answered
        else (
            " Decide as on the Review page: A accepts; X, F and the digits reject; E means that "
            "you would edit; and S skips. Your answers are stored as practice, not as decisions."
        )
    )
    st.caption(f"{again} {number} of {total}.{so_far}{start}")
    st.progress(score.answered / total)


def _right(score: Score) -> str:
    return f"{score.right:,} of {score.answered:,} right"


def _buttons(state: PracticeState, view: PracticeView, item: Gold, entry: VariantType) -> None:
    """The keys as buttons, with the same labels as on the Review page."""

    def button(
        label: str,
        name: str,
        act: Callable[..., None],
        *args: object,
        kind: Literal["primary", "secondary", "tertiary"] = "secondary",
        help: str | None = None,
    ) -> None:
        state.keyboard.bind(name, act, *args, of_card=True)
        st.button(
            label,
            key=f"{name}-{item.id}-{view.round.number}",
            on_click=act,
            args=args,
            type=kind,
            help=help,
        )

    with st.container(key="keys"):
        with st.container(horizontal=True, key="decide", gap="small"):
            answer = state.answer
            button("Accept", "a", answer, view.round, item, Verdict.ACCEPT, kind="primary")
            button("Reject", "x", answer, view.round, item, Verdict.REJECT)
            button(
                "Edit",
                "e",
                answer,
                view.round,
                item,
                Verdict.EDIT,
                help="You would change it. This counts as not accepting it.",
            )
            button("Skip", "s", state.skip, item, help="The card comes back at the end.")
        with st.container(horizontal=True, key="reasons", gap="small", vertical_alignment="center"):
            st.caption("Reject:", width="content")
            for reason in REJECT_REASONS:
                if reason.applies_to(entry):
                    button(
                        reason.label,
                        "f" if reason.id == _FAMILY else reason.digit,
                        state.answer,
                        view.round,
                        item,
                        Verdict.REJECT,
                        reason.id,
                        kind="tertiary",
                        help=reason.explanation,
                    )


def _feedback(state: PracticeState, view: PracticeView, item: Gold) -> None:
    """Show whether the answer is right and why."""
    with st.container(border=True, key="practice-feedback"):
        formatting.emit(_result(view, item))
        state.keyboard.bind("n", state.go_on)
        st.button(
            "Next card" if view.round.left else "See your result",
            key="n-practice-next",
            type="primary",
            on_click=state.go_on,
        )


def _passage(item: Gold, entry: VariantType) -> None:
    """Show the passage of the guideline about an answer, in place of the whole guideline."""
    found = passage(parse_guideline(entry.guideline), _label(item))
    about = f", {_label(item).lower()}" if _label(item) else ""
    formatting.emit(
        Markup(
            '<section class="hg-card hg-guide" aria-label="Guideline">'
            '<span class="hg-label">{}</span>{}</section>'
        ).format(
            f"From the guideline: {entry.label.lower()}{about}", guidance.guideline_part(found)
        )
    )


def _result(view: PracticeView, item: Gold) -> Markup:
    assert view.answer is not None
    given, is_right = view.answer, view.is_right
    mine = f"You {_ANSWERED[given.verdict]}{_in_brackets(given.reason)}."
    return Markup(
        '<section aria-label="Feedback" role="status" class="hg-feedback"><div class="hg-head">'
        '<span class="hg-said-{}">{}</span><span>{}</span></div>{}</section>'
    ).format(
        "accept" if is_right else "reject",
        "Right" if is_right else "Not quite",
        f"{mine} {_right_answer(item, is_right=is_right, reason=given.reason)}".strip(),
        _explanation(item),
    )


def _explanation(item: Gold) -> Markup:
    """The lead's explanation."""
    if not item.explanation:
        return Markup("")
    return Markup('<p class="hg-why hg-text" dir="auto">{}</p>').format(item.explanation)


def _right_answer(item: Gold, *, is_right: bool, reason: str) -> str:
    """The correct verdict or reason, if the answer was a different one."""
    if not is_right:
        return f"{_RIGHT[item.verdict]}{_in_brackets(item.reason)}."
    if item.reason not in ("", "other", reason):
        return f"The reason here: {reason_text(item.reason)}."
    return ""


def _in_brackets(reason: str) -> str:
    return f" ({reason_text(reason)})" if reason not in ("", "other") else ""


def _label(item: Gold) -> str:
    """The label of the right reason; '' for an acceptance."""
    return reject_reason(item.reason).label if item.reason else ""


def _score(state: PracticeState, found: PracticeRound) -> None:
    """The end of a round: the score by type, and the missed cards."""
    score = found.score()
    with st.container(key="practice-score"):
        st.header(f"You got {_right(score)}", anchor=False)
        names = open_project.type_names()
        st.dataframe(
            [
                {
                    "Type": names.get(type_id, type_id),
                    "Right": f"{one.right} of {one.answered}",
                    "Share": 100 * one.right / one.answered,
                }
                for type_id, one in found.by_type().items()
            ],
            hide_index=True,
            key="practice-types",
            width="content",
            height="content",
            column_config={
                "Share": st.column_config.ProgressColumn(
                    "", min_value=0, max_value=100, format="%.1f%%"
                )
            },
        )
        with st.container(horizontal=True, vertical_alignment="center", key="practice-go-on"):
            st.page_link("pages/review.py", label="Go to the queue", icon=":material/rate_review:")
            state.keyboard.bind("n", state.once_more)
            st.button("Practise again", key="n-practice-again", on_click=state.once_more)
        if missed := [item for item in found.answered if not found.is_right(item)]:
            st.subheader(counted(len(missed), "wrong answer"), anchor=False)
            for item in missed:
                _missed(found, item, names)


def _missed(found: PracticeRound, item: Gold, names: dict[str, str]) -> None:
    shown = open_project.ask(card, item.variant_id)
    mine = found.answers[item.id]
    answered = f"You {_ANSWERED[mine.verdict]}{_in_brackets(mine.reason)}."
    right = _right_answer(item, is_right=False, reason=mine.reason)
    formatting.emit(
        Markup(
            '<div class="hg-card hg-line"><div class="hg-head"><span class="hg-type">{}</span>'
            "<span>{}</span></div>{}{}</div>"
        ).format(
            names.get(item.type_id, item.type_id),
            f"{answered} {right}",
            card_view.sentences(shown),
            _explanation(item),
        )
    )


# -- Practice for new reviewers: a link above the card, or instead of the card --------------------


def practice_stops(reviewer_id: int) -> bool:
    """Offer practice to a new reviewer. Return whether the project requires it before reviewing."""
    number = open_project.ask(offered, reviewer_id) if current_user.may(TeamRole.REVIEWER) else 0
    if not number:
        return False
    first = open_project.ask(must_practise, reviewer_id)
    cards = counted(number, "card")
    if not first:
        with st.container(key="practice-offer"):
            _link(f"New here? Practise on {cards} with feedback")
        return False
    with st.container(border=True, key="empty"):
        st.write(
            f"Before you review, practise on {cards}. You decide as on this page, and after each "
            "card you see what is right and why. Practice answers are not decisions."
        )
        _link("Start practising")
    return True


def _link(label: str) -> None:
    st.page_link(
        "pages/team.py",
        label=label,
        icon=":material/school:",
        query_params={links.SECTION: links.PRACTICE},
    )
