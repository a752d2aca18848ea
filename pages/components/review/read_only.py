"""The Review page for viewers: the same cards, with nothing that changes them."""

import streamlit as st

from curation.review.browser_window.adjudicating import ReadingState
from curation.review.browser_window.shown_now import CardView
from curation.review.discussing import open_marks
from curation.taxonomy.built_in import VariantType
from pages.components.review import (
    card_details,
    empty_queue,
    keys,
    queue_choice,
    search_box,
)
from pages.components.review import desk as review_desk
from pages.components.shared import card, formatting, guidance
from pages.components.shared.shell import error_messages, open_project

_NOTICE = (
    "You are a viewer, so you can read cards but not decide on them. To decide, ask a lead to make "
    "you a reviewer."
)


@error_messages.fragment
def desk(state: ReadingState) -> None:
    """Draw the card to read now."""
    view = review_desk.current_view(state)
    focus = view.focus
    st.caption(_NOTICE)
    if focus is None:
        formatting.emit(card.message(state.message, warn=state.warn))
        empty_queue.show(state, none_left=empty_queue.draw_none_left)
        queue_choice.progress(state)
    else:
        _read(state, view, open_project.every_type())
    keys.listen(state)
    if state.pinned is None and "variant" in st.query_params:
        del st.query_params["variant"]  # the URL named a card that is no longer shown


def _read(state: ReadingState, view: CardView, entries: dict[str, VariantType]) -> None:
    focus = view.focus
    assert focus is not None
    entry = entries[focus.variant.type_id]
    with st.container(horizontal=True, key="desk"):
        with st.container(key="desk-card"):
            review_desk.focus_card(
                state, view, entries, open_project.ask(open_marks, focus.variant.id)
            )
            formatting.emit(card.message(state.message, warn=state.warn))
            _buttons(state)
            if state.by_family:
                for item in view.cards:
                    formatting.emit(
                        card.family_row(
                            item,
                            entries[item.variant.type_id],
                            threshold=state.threshold,
                            focus=item.variant.id == state.focus_id,
                            hidden=item.variant.id in view.hidden,
                            sibling=None,
                        )
                    )
            if state.details:
                card_details.details(state, view)
            queue_choice.progress(state, focus=entry.id)
        if state.guide:
            with st.container(key="desk-guide"):
                formatting.emit(guidance.guide(entry))


def _buttons(state: ReadingState) -> None:
    with st.container(horizontal=True, key="decide", gap="small"):
        for label, letter, act in (
            ("Next card", "s", state.go_on),
            ("Details", "g", state.toggle_details),
            ("Guideline", "i", state.toggle_guide),
        ):
            state.keyboard.bind(letter, act)
            st.button(label, key=f"{letter}-key", on_click=act)
        if st.button("Search (/)", key="search-key"):
            search_box.search(state)
