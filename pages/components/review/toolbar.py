"""Above the card: the tools, which open panels next to and below it, and the row of menus."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import streamlit as st
from markupsafe import Markup

from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.queue_position import Panel
from pages.components.review.search_box import search
from pages.components.shared import formatting


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
        formatting.emit(opener("Tools"))
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


# -- Markup of the row of menus, and of how much is left ------------------------------------------


def progress_markup(rows: Sequence[tuple[str, int, int | None, bool]]) -> Markup:
    """How much is left of each type.

    Args:
        rows: label, number left, total (None if unknown) and whether the type is under review. If
            the total is known, a thin bar shows the share that is done.
    """
    parts = [
        Markup('<div class="{}"><div>{}</div><div>{:,}{} left</div>{}</div>').format(
            "hg-current" if current else "",
            label,
            left,
            "" if total is None else f" of {total:,}",
            Markup("") if total is None else _bar((total - left) / max(total, 1)),
        )
        for label, left, total, current in rows
    ]
    return Markup('<div class="hg-progress">{}</div>').format(formatting.join(parts))


def _bar(share: float) -> Markup:
    width = 100 * max(0.0, share)
    return Markup('<div class="hg-bar"><i style="width:{:.1f}%"></i></div>').format(width)


def quietly(text: str) -> Markup:
    """A line in small grey type."""
    return Markup('<div class="hg-head"><span>{}</span></div>').format(text)


def opener(label: str) -> Markup:
    """A button that opens the list next to it (see menus.js)."""
    return _opener(Markup(""), Markup("<span>{}</span>").format(label))


def choice_opener(label: str, *, chosen: str, short: str, letter: str) -> Markup:
    """The button of a menu, with the current choice, space for its number, and its key.

    Args:
        short: the choice in a word or two; screen readers and the tooltip get the full name.
    """
    return _opener(
        Markup(' aria-label="{0}: {1}" title="{0}: {1} ({2})"').format(label, chosen, letter),
        Markup("<span>{}</span><i></i><kbd>{}</kbd>").format(short, letter),
    )


def _opener(attributes: Markup, content: Markup) -> Markup:
    return Markup(
        '<button type="button" class="hg-open" aria-expanded="false"{}>{}</button>'
    ).format(attributes, content)


def left_markup(numbers: Mapping[str, Sequence[int]], chosen: Mapping[str, int]) -> Markup:
    """Style rules that write the number left after each label of the menus.

    The numbers are drawn with every card; the menus themselves are not.

    Args:
        numbers: key of a menu → the number left for each of its entries, in their order.
        chosen: key of a menu → the position of the current choice, whose number the button shows.
    """
    rules = [
        Markup('.st-key-{} [role="radio"]:nth-of-type({})::after{{content:"{:,}"}}').format(
            key, place, number
        )
        for key, entries in numbers.items()
        for place, number in enumerate(entries, start=1)
    ]
    rules += [
        Markup('.st-key-menu-{} .hg-open i::after{{content:"{:,}"}}').format(
            key, numbers[key][place]
        )
        for key, place in chosen.items()
    ]
    return Markup("<style>{}</style>").format(formatting.join(rules))
