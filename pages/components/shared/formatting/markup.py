"""The only place that emits HTML. Texts are inserted with ``Markup.format``, which escapes them."""

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
    """Emit markup. A plain string is refused, because it may not be escaped.

    Raises:
        TypeError: for anything but ``Markup``.
    """
    if not isinstance(markup, Markup):
        raise TypeError("expected Markup, found a string that may contain unescaped text")
    st.html(markup)


@cache
def style_sheet(scheme: str | None = None) -> Markup:
    """The colours of the palette and our style rules.

    Args:
        scheme: 'light' or 'dark'. Streamlit sets it only on the app's element, but draws dialogs
            and menus outside it.
    """
    # These files are ours and contain no untrusted text.
    sheets = ((_COMPONENTS / name).read_text("utf-8") for name in _STYLES)
    of_root = [f":root {{ color-scheme: {scheme}; }}"] if scheme in ("light", "dark") else []
    rules = Markup("\n".join([*of_root, custom_properties(), *sheets]))
    return Markup("<style>{}</style>").format(rules)


def style() -> None:
    """Emit the style sheet of our markup. Call it once per page."""
    st.html(style_sheet(st.context.theme.type))


def script(*names: str) -> str:
    """The JavaScript of a component, from our own files in this order."""
    return "\n".join((_COMPONENTS / name).read_text("utf-8") for name in names)


def remember(cookie: str, value: str) -> None:
    """Store a value in this browser for a year, as a cookie that is not sent to other sites."""
    # Percent-encoding removes all characters with a meaning in scripts or cookies.
    text = f"{cookie}={quote(value, safe='')}; path=/; max-age=31536000; SameSite=Strict"
    st.html(f"<script>document.cookie = '{text}';</script>", unsafe_allow_javascript=True)
