"""The tools above the card: what is open beside or below it. A decision does not draw them anew."""

from collections.abc import Callable

import streamlit as st

from pages.components.review.search_box import search
from pages.components.review.window.key_actions import ReviewState
from pages.components.review.window.queue_position import Panel
from pages.components.shared.texts import markup
from pages.components.shared.variants import card


def tools(state: ReviewState) -> None:
    """Draw them as buttons with their keys; a narrow window has them in a list that opens.

    They are outside the desk, which is drawn for each card: seven buttons would take a sixth of the
    time until the next card.
    """

    def tool(
        label: str, letter: str, act: Callable[..., None], *args: object, help: str | None = None
    ) -> None:
        st.button(
            label,
            key=f"{letter}-key",
            shortcut=letter,
            type="tertiary",
            help=help,
            on_click=_use,
            args=(state, act, *args),
        )

    with st.container(key="menu-tools", width="content"):
        markup.show(card.opener("Tools"))
        with st.container(horizontal=True, key="look", gap="small"):
            tool("Note", "n", state.toggle, Panel.NOTE)
            tool(
                "Own variant",
                "w",
                state.toggle,
                Panel.WRITE,
                help="Write a variant of your own for this anchor.",
            )
            tool("Details", "g", state.toggle_details, help="Siblings, origin, notes, history.")
            tool("Guideline", "i", state.toggle_guide)
            tool(
                "Not blind" if state.blind else "Blind",
                "b",
                state.toggle_blind,
                help="Diagnostics, notes and other verdicts only after your own.",
            )
            if st.button(
                "Search (/)",
                key="search-key",
                type="tertiary",
                help="Find anchors, variants and notes by their words.",
            ):
                search(state)
            tool(
                "Decisions",
                "l",
                state.toggle,
                Panel.LAST,
                help="Your last decisions; each can be taken back by itself.",
            )
            tool("Keys", "h", state.toggle, Panel.KEYS)


def _use(state: ReviewState, act: Callable[..., None], *args: object) -> None:
    """Nothing happens while somebody is writing, or where there is no card to use a tool on."""
    if state.showings and not state.typing:
        act(*args)
