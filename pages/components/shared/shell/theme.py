"""Light or dark: chosen here, kept by the browser.

Streamlit has the choice in its own menu, keeps it for each page's address separately, and tells the
app nothing but the result (``st.context.theme``). So theme.js writes what Streamlit keeps for all
pages at once, and a cookie says what was chosen.
"""

from pathlib import Path

import streamlit as st

from pages.components.shared.formatting import markup

COOKIE = "hedgerow_theme"
THEMES = {"System": "As the system", "Light": "Light", "Dark": "Dark"}
"""Streamlit's own names of its themes, and ours."""

_PAGES = Path(__file__).parents[3]

_component = st.components.v2.component("hedgerow_theme", js=markup.script("shared/shell/theme.js"))


def draw() -> None:
    """Offer the choice of a theme; the page reloads in it."""
    now = st.context.cookies.get(COOKIE, "")
    now = now if now in THEMES else "System"
    st.header("Appearance", anchor=False)
    chosen = st.segmented_control(
        "Theme",
        list(THEMES),
        default=now,
        key=f"theme-{now}",
        format_func=lambda key: THEMES[key],
        required=True,
        help="For this browser; it is remembered.",
    )
    if chosen != now:
        pages = sorted(path.stem for path in _PAGES.glob("*.py"))
        markup.remember(COOKIE, chosen)  # so that the app knows it
        _component(key="choose-theme", data={"theme": chosen, "pages": pages})
