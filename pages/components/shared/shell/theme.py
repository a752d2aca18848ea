"""The choice of a light or dark theme, stored by the browser.

Streamlit has this choice in its own menu, but stores it for each page's URL separately and tells
the app only the result (``st.context.theme``). So theme.js writes Streamlit's stored value for all
pages at once, and a cookie stores the choice.
"""

from pathlib import Path

import streamlit as st

from pages.components.shared.formatting import markup

COOKIE = "hedgerow_theme"
THEMES = {"System": "Same as system", "Light": "Light", "Dark": "Dark"}
"""Streamlit's names of its themes, and our labels."""

_PAGES = Path(__file__).parents[3]

_component = st.components.v2.component("hedgerow_theme", js=markup.script("shared/shell/theme.js"))


def draw() -> None:
    """Draw the choice of a theme. The page reloads with the chosen one."""
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
        help="Stored in this browser.",
    )
    if chosen != now:
        pages = sorted(path.stem for path in _PAGES.glob("*.py"))
        markup.remember(COOKIE, chosen)  # for the app
        _component(key="choose-theme", data={"theme": chosen, "pages": pages})
