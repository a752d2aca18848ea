"""The keys of the Review page: one component, mounted once, that receives each card in turn."""

from typing import Protocol

import streamlit as st

from curation.decisions.leases import Screen
from curation.review.browser_window.keyboard import Keyboard
from pages.components.shared import formatting
from pages.components.shared.shell import error_messages

_KEY = "keyboard"

_component = st.components.v2.component(
    "hedgerow_review_keys",
    js=formatting.script("shared/scripts/typing.js", "review/menus.js", "review/keys.js"),
)


class Listening(Protocol):
    """A window with active keys: reviewing, settling or practising."""

    keyboard: Keyboard
    screen: Screen

    @property
    def typing(self) -> bool:
        """Whether the user is typing, so that keys are text."""

    def ignore_key(self) -> None:
        """Handle a key that was pressed too early."""


def listen(state: Listening) -> None:
    """Send the browser the keys that are active now. Call it after all keys are bound."""
    keyboard = state.keyboard
    _component(
        key=_KEY,
        data={
            "window": state.screen.window,
            **keyboard.shows._asdict(),
            "keys": {name: key.kind for name, key in keyboard.keys.items()},
            "answered": keyboard.answered,
        },
        on_pressed_change=lambda: _pressed(state),
    )


def _pressed(state: Listening) -> None:
    for key in state.keyboard.press(st.session_state[_KEY].pressed or ()):
        with error_messages.message_kept():
            if key is None:
                state.ignore_key()
            elif not state.typing:
                key.act()
