"""The desk: the card, a button for each key, the open panel below, and the guideline next to it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import streamlit as st
from markupsafe import Markup

from curation.decisions.history import history, replacement_of
from curation.review.browser_window import messages
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.keyboard import NOTHING, Shows
from curation.review.browser_window.queue_position import Panel
from curation.review.browser_window.shown_now import CardView
from curation.review.cards import Card
from curation.review.deciding import ShownCard
from curation.review.discussing import OpenMark, open_marks
from curation.review.queue import Order
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.reject_reasons import REJECT_REASONS
from db.models import Status, Variant
from pages.components.review import (
    below_card,
    card_details,
    empty_queue,
    keys,
    queue_choice,
    toolbar,
)
from pages.components.shared import card, formatting, guidance, page_runs
from pages.components.shared.shell import error_messages, open_project


def current_view(state: ReviewState) -> CardView:
    """Read what a desk draws now. From now on, keys act on this card."""
    if state.redraw:
        state.redraw = False
        st.rerun()
    view = state.view()
    focus = view.focus
    state.keyboard.show(Shows(focus.variant.uid, focus.variant.version) if focus else NOTHING)
    queue_choice.bind(state)
    return view


@error_messages.fragment
def desk(state: ReviewState) -> None:
    """Draw the card to decide on now. A key press redraws only this part."""
    view = current_view(state)
    queue_choice.selection_left(state)
    focus = view.focus
    if focus is None:
        message(state)
        empty_queue.show(state, none_left=empty_queue.draw_none_left)
        queue_choice.progress(state)
        keys.listen(state)
        return
    entries = open_project.every_type()
    shown = state.showings[focus.variant.id]
    with st.container(horizontal=True, key="desk"):
        with st.container(key="desk-card"):
            marks = open_project.ask(open_marks, focus.variant.id)
            focus_card(state, view, entries, marks)
            message(state)
            with st.container(key="keys"):
                editor_message(state)
                _buttons(state, shown, entries[focus.variant.type_id], is_marked=bool(marks))
            below_card.draw(state, focus, shown)
            if state.panel is Panel.OPINION:
                card_details.second_opinion(state, focus, shown)
            if state.by_family:
                _family(state, view, entries)
            if state.details:
                card_details.details(state, view)
            queue_choice.progress(state, focus=focus.variant.type_id)
        if state.guide:
            with st.container(key="desk-guide"):
                formatting.emit(guidance.guide(entries[focus.variant.type_id]))
    keys.listen(state)
    state.drawn_now()
    if state.pinned is None and "variant" in st.query_params:
        del st.query_params["variant"]  # the URL named a card that is no longer shown
    page_runs.measure_edits(state.edited)


def focus_card(
    state: ReviewState,
    view: CardView,
    entries: dict[str, VariantType],
    marks: Sequence[OpenMark],
) -> None:
    """Draw the card that the keys act on, with its marks for discussion."""
    focus = view.focus
    assert focus is not None
    hidden = focus.variant.id in view.hidden
    formatting.emit(
        card.card(
            focus,
            entries[focus.variant.type_id],
            threshold=state.threshold,
            hidden=hidden,
            why_blind=_why_blind(state, focus.variant) if hidden else "",
            say_why=state.order is Order.SUSPICIOUS and state.in_queue,
            notice=_notice(state, focus, hidden=hidden)
            + marked(marks, hidden=hidden or focus.variant.id in state.gold),
            sibling=_sibling(state, focus, entries, view.cards if state.by_family else None),
        )
    )


def _why_blind(state: ReviewState, variant: Variant) -> str:
    """Why a card is blind, what is hidden, and for how long."""
    hidden = card_details.why_hidden(state, variant).removesuffix(".")
    why = open_project.ask(state.why_hidden, variant)
    return f"{why} {hidden}: diagnostics, notes and other verdicts."


def _sibling(
    state: ReviewState, shown: Card, entries: dict[str, VariantType], cards: Sequence[Card] | None
) -> card.Sibling | None:
    """The sibling to compare with a variant that has no diff against its anchor.

    Args:
        cards: its family, if it has been read already.
    """
    if not card.wants_sibling(shown):
        return None
    if cards is None:
        cards = open_project.ask(state.siblings, shown)
    return card.nearest_sibling(shown, cards, entries)


def message(state: ReviewState) -> None:
    """Draw the message about the last key press, and the pace (see review.css for the place)."""
    text = "" if state.typing else state.message
    early = "" if messages.TOO_EARLY in text else messages.TOO_EARLY
    formatting.emit(card.message(text, warn=state.warn, pace=state.pace.summary(), early=early))


def editor_message(state: ReviewState) -> None:
    """Draw the message below the card while an editor is open there."""
    if state.typing and state.message:
        formatting.emit(card.message(state.message, warn=state.warn))


def _notice(state: ReviewState, focus: Card, *, hidden: bool) -> Markup:
    """Who disagrees, what was decided before a second look, or that the variant is out of use."""
    variant = focus.variant
    if state.showings[variant.id].settles and variant.status != Status.SUPERSEDED:
        past = open_project.ask(history, variant.id)
        return card.notice(messages.disagreement(past, variant.status))
    if variant.second_look and not hidden:
        before = messages.before(open_project.ask(history, variant.id))
        return card.notice(f"On the earlier wording: {before}.") if before else Markup("")
    if variant.status == Status.SUPERSEDED and not hidden:
        child = open_project.ask(replacement_of, variant.id)
        if child is not None:
            return card.notice("An edit has replaced this wording. The new card:", child)
    if variant.retired:
        what = "type" if open_project.every_type()[variant.type_id].retired else "anchor"
        return card.notice(
            f"Out of use, because its {what} is retired. It is in no queue and no release."
        )
    return Markup("")


def marked(marks: Sequence[OpenMark], *, hidden: bool = False) -> Markup:
    """Marks for discussion as notices: who made them, and their remarks unless ``hidden``."""
    notices = []
    for mark in marks:
        remark = f": {mark.remark}" if mark.remark else ""
        text = "To discuss." if hidden else f"{mark.reviewer} wants to discuss this{remark}"
        notices.append(card.notice(text if hidden or remark else f"{text}."))
    return formatting.join(notices)


def _family(state: ReviewState, view: CardView, entries: dict[str, VariantType]) -> None:
    """Draw all variants of the anchor, each with buttons. Keys act on the highlighted one."""
    threshold = state.threshold
    for item in view.cards:
        shown = state.showings[item.variant.id]
        has_keys = item.variant.id == state.focus_id
        hidden = item.variant.id in view.hidden
        with st.container(
            horizontal=True,
            vertical_alignment="center",
            gap="small",
            key=f"one-line-{shown.action_id}",
        ):
            formatting.emit(
                card.family_row(
                    item,
                    entries[item.variant.type_id],
                    threshold=threshold,
                    focus=has_keys,
                    hidden=hidden,
                    sibling=_sibling(state, item, entries, view.cards),
                )
            )
            st.button(
                label_of("Accept", shown),
                key=f"row-accept-{shown.action_id}",
                width="content",
                on_click=state.accept,
                args=(shown,),
                disabled=item.variant.status == Status.ACCEPTED and not hidden,
            )
            st.button(
                "Choose",
                key=f"row-focus-{shown.action_id}",
                width="content",
                on_click=state.focus,
                args=(shown.variant_id,),
                disabled=has_keys,
                help="Make this the active variant.",
            )


_SETTLING = {
    "Accept": "Settle as accepted",
    "Reject": "Settle as rejected",
    "Reject with a note": "Settle as rejected with a note",
    "Accept the edit": "Settle as edited",
}


def label_of(verdict: str, shown: ShownCard) -> str:
    """The label of a button that gives this verdict, which on a card in conflict settles it."""
    return _SETTLING[verdict] if shown.settles else verdict


def discuss_label(is_marked: bool) -> str:
    """The label of the button that marks a card for discussion or removes the mark."""
    return "Remove mark" if is_marked else "Discuss"


def key_button(
    state: ReviewState,
    shown: ShownCard,
    label: str,
    name: str,
    act: Callable[..., None],
    *args: object,
    kind: Literal["primary", "secondary", "tertiary"] = "secondary",
) -> None:
    """Draw a button and bind its key, unless letters are text or another panel's digits are active.

    Args:
        name: the key.
    """
    of_card = shown in args
    opener = {Panel.RETYPE: "t", Panel.REASON: "x", Panel.WORDING: "e"}.get(state.panel)
    if not state.typing and (name == opener or not state.choosing):
        state.keyboard.bind(
            name,
            act,
            *args,
            # Up and down move on from whichever card is there by then.
            of_card=of_card and name not in ("up", "down", "d"),
            writes=name == "d" or (name == "e" and not of_card),
        )
    st.button(
        label,
        key=f"{name}-{shown.action_id if of_card else 'key'}",
        disabled=state.typing,
        on_click=act,
        args=args,
        type=kind,
    )


def _buttons(state: ReviewState, shown: ShownCard, entry: VariantType, *, is_marked: bool) -> None:
    """Draw a button for each key.

    The widget keys of buttons that decide contain the id of the showing, so that a late click is
    recognised. The other buttons stay the same from card to card, which is faster to draw. While a
    panel for typing is open, letters are text and all buttons are disabled.
    """
    if not state.typing:
        toolbar.bind(state)
    button = partial(key_button, state, shown)
    with st.container(horizontal=True, key="decide", gap="small"):
        button(label_of("Accept", shown), "a", state.accept, shown, kind="primary")
        button(label_of("Reject with a note", shown), "x", state.toggle, Panel.REASON)
        button("Edit", "e", state.toggle, Panel.EDIT)
        button("Change type", "t", state.toggle, Panel.RETYPE)
        button("Skip", "s", state.skip, shown)
        button("Undo", "z", state.undo)
        button(discuss_label(is_marked), "d", state.discuss, shown)
        if state.has_opinions:
            button("Second opinion", "j", card_details.ask_for_opinion, state, shown)
        if state.by_family:
            button("Previous", "up", state.step, shown, -1)
            button("Next", "down", state.step, shown, 1)
    if state.panel in (Panel.NONE, Panel.KEYS, Panel.LAST, Panel.OPINION, Panel.REASON):
        reasons(state, shown, entry)


def reasons(
    state: ReviewState, shown: ShownCard, entry: VariantType, *, with_family: bool = True
) -> None:
    """Draw the reject reasons, one digit each. After X, and for 'other', a note comes first.

    A reason that does not apply to this type has no button. Its digit says that it does not apply.

    Args:
        with_family: also offer to reject the whole family.
    """
    with_note = state.panel is Panel.REASON
    row = "reasons-note" if with_note else "reasons"
    with st.container(horizontal=True, key=row, gap="small", vertical_alignment="center"):
        label = label_of("Reject", shown)
        st.caption(f"{label} with a note. Reason:" if with_note else f"{label}:", width="content")
        for reason in REJECT_REASONS:
            if reason.id == "anchor_unsuitable":
                continue
            at_once = not with_note and reason.id != "other"
            act: Callable[..., None] = state.reject_at_once if at_once else state.choose_reason
            args = (shown, reason.id) if at_once else (entry, reason.id)
            state.keyboard.bind(reason.digit, act, *args, of_card=at_once, writes=not at_once)
            if reason.applies_to(entry):
                st.button(
                    reason.label,
                    key=f"{reason.digit}-{shown.action_id if at_once else 'note'}",
                    type="tertiary",
                    help=reason.explanation,
                    on_click=act,
                    args=args,
                )
        if with_family and not with_note:
            state.keyboard.bind("f", state.reject_family, shown, of_card=True)
            st.button(
                "Anchor unsuitable (whole family)",
                key=f"f-{shown.action_id}",
                type="tertiary",
                on_click=state.reject_family,
                args=(shown,),
                help="The anchor is not a plain affirmative claim: reject all its variants.",
            )
