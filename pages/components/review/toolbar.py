"""The tools above the card. They open panels next to and below it."""

from collections.abc import Callable
from typing import NamedTuple

import streamlit as st

from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.queue_position import Panel
from pages.components.review import queue_markup
from pages.components.review.search_box import search
from pages.components.shared.formatting import markup


class _Tool(NamedTuple):
    """A button above the card, and its key."""

    label: str
    letter: str
    act: Callable[[], None]
    help: str | None = None
    writes: bool = False


def _tools(state: ReviewState) -> list[_Tool]:
    return [
        _Tool("Note", "n", lambda: state.toggle(Panel.NOTE), writes=True),
        _Tool(
            "Own variant",
            "w",
            lambda: state.toggle(Panel.WRITE),
            "Write a variant of your own for this anchor.",
            writes=True,
        ),
        _Tool("Details", "g", state.toggle_details, "Origin, notes, history, other variants."),
        _Tool("Guideline", "i", state.toggle_guide),
        _Tool(
            "Not blind" if state.blind else "Blind",
            "b",
            state.toggle_blind,
            "Show diagnostics, notes and other verdicts at once."
            if state.blind
            else "Hide diagnostics, notes and other verdicts until you have decided.",
        ),
        _Tool(
            "Decisions",
            "l",
            lambda: state.toggle(Panel.LAST),
            "Your latest decisions; you can undo any of them.",
        ),
        _Tool("Keys", "h", lambda: state.toggle(Panel.KEYS)),
    ]


def tools(state: ReviewState) -> None:
    """Draw the tools as buttons with their keys; in a narrow window, in a menu.

    They are outside the desk, which is redrawn for each card: seven buttons would take a sixth of
    the time until the next card appears.
    """
    *first, last, shortcuts = _tools(state)
    with st.container(key="menu-tools", width="content"):
        markup.show(queue_markup.opener("Tools"))
        with st.container(horizontal=True, key="look", gap="small"):
            for tool in first:
                _button(state, tool)
            if st.button(
                "Search (/)",
                key="search-key",
                type="tertiary",
                help="Search the texts of anchors, variants and notes.",
            ):
                search(state)
            _button(state, last)
            _button(state, shortcuts)


def _button(state: ReviewState, tool: _Tool) -> None:
    st.button(
        tool.label,
        key=f"{tool.letter}-key",
        type="tertiary",
        help=tool.help,
        on_click=_use,
        args=(state, tool.act),
    )


def bind(state: ReviewState) -> None:
    """Bind the keys of the tools."""
    for tool in _tools(state):
        state.keyboard.bind(tool.letter, _use, state, tool.act, writes=tool.writes)


def _use(state: ReviewState, act: Callable[[], None]) -> None:
    """Use a tool, unless the user is typing or there is no card."""
    if state.showings and not state.typing:
        act()
