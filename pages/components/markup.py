"""The only place that emits HTML. Texts get into it by ``Markup.format``, which escapes them."""

from functools import cache
from pathlib import Path

import streamlit as st
from markupsafe import Markup

_HERE = Path(__file__).parent


def show(markup: Markup) -> None:
    """Emit markup; a plain string is refused, since nobody has escaped it.

    Raises:
        TypeError: for anything but ``Markup``.
    """
    if not isinstance(markup, Markup):
        raise TypeError("expected Markup, found a string that may hold somebody's text")
    st.html(markup)


@cache
def _style() -> Markup:
    # Ours, from the repository: nobody's text.
    return Markup("<style>{}</style>").format(Markup((_HERE / "style.css").read_text("utf-8")))


def style() -> None:
    """Emit the style sheet of our markup; once a page."""
    st.html(_style())


@cache
def _keys() -> str:
    return "<script>" + (_HERE / "keys.js").read_text("utf-8") + "</script>"


def guard_keys() -> None:
    """Drop key repeats before the page sees them: a held key is one key press.

    Also puts the cursor into a text box that asks for it, so that E opens an editor to type in.
    """
    st.html(_keys(), unsafe_allow_javascript=True)
