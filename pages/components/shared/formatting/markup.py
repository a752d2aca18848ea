"""The only place that emits HTML. Texts get into it by ``Markup.format``, which escapes them."""

from functools import cache
from pathlib import Path
from urllib.parse import quote

import streamlit as st
from markupsafe import Markup

from pages.components.shared.charts.palette import custom_properties

_COMPONENTS = Path(__file__).parents[2]
_STYLES = (
    "shared/formatting/style.css",
    "review/review.css",
    "adjudicate/adjudicate.css",
    "shared/shell/theme.css",
)


def show(markup: Markup) -> None:
    """Emit markup; a plain string is refused, since nobody has escaped it.

    Raises:
        TypeError: for anything but ``Markup``.
    """
    if not isinstance(markup, Markup):
        raise TypeError("expected Markup, found a string that may hold somebody's text")
    st.html(markup)


@cache
def style_sheet(scheme: str | None = None) -> Markup:
    """The colours of the palette, and our rules.

    Args:
        scheme: 'light' or 'dark', for what Streamlit draws outside the app's element, which alone
            it tells the scheme: dialogs and lists of choices.
    """
    # Ours, from the repository: nobody's text.
    sheets = ((_COMPONENTS / name).read_text("utf-8") for name in _STYLES)
    of_root = [f":root {{ color-scheme: {scheme}; }}"] if scheme in ("light", "dark") else []
    rules = Markup("\n".join([*of_root, custom_properties(), *sheets]))
    return Markup("<style>{}</style>").format(rules)


def style() -> None:
    """Emit the style sheet of our markup; once a page."""
    st.html(style_sheet(st.context.theme.type))


def script(*names: str) -> str:
    """The JavaScript of a component: our own files, one after the other."""
    return "\n".join((_COMPONENTS / name).read_text("utf-8") for name in names)


def remember(cookie: str, value: str) -> None:
    """Keep a value in this browser for a year, as a cookie that no other site is sent."""
    # Percent-encoded, it holds no character that means anything in a script or a cookie.
    text = f"{cookie}={quote(value, safe='')}; path=/; max-age=31536000; SameSite=Strict"
    st.html(f"<script>document.cookie = '{text}';</script>", unsafe_allow_javascript=True)
