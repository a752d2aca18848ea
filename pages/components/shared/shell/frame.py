"""The frame of every page: the window, title, style sheet, scripts, theme, and closed windows."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from curation.decisions.leases import release_closed
from curation.decisions.roles import for_the_project
from pages.components.shared import formatting
from pages.components.shared.shell import open_project

# -- Release the cards of windows that were closed or that left a page with cards -----------------


REVIEW_STATE = "review"
"""Session key of the Review page's state."""

ADJUDICATION_STATE = "adjudication"
"""Session key of the Adjudicate page's state."""

_closed: set[str] = set()
"""Windows of ended sessions, which may still hold cards."""


@st.cache_resource(scope="session", show_spinner=False, on_release=_closed.add)
def _open(window: str) -> str:
    """Cached while the session is connected. A reload or a crash of the browser ends it."""
    return window


def keep_window(window: str) -> None:
    """Record that this window is open, also after a lost connection has come back."""
    _open(window)
    _closed.discard(window)


def is_window_open(window: str) -> bool:
    """Whether a window of this server is still open."""
    return window not in _closed


def release_closed_windows() -> None:
    """Release the cards of closed windows."""
    gone = set(_closed)
    _closed.difference_update(gone)
    open_project.tell_for_the_project(release_closed, gone)


def leave_cards(*, but: str = "") -> None:
    """Release the cards of this session's other pages, because it now shows another page.

    Args:
        but: session key of the state of the page that it shows.
    """
    for name in (REVIEW_STATE, ADJUDICATION_STATE):
        if name != but and (state := st.session_state.get(name)) is not None:
            with for_the_project():  # the person may have become a viewer
                state.leave()


# -- The start of every page: title, style sheet and scripts --------------------------------------


REVIEW = "Review"
ADJUDICATE = "Adjudicate"
"""Titles of the pages that release their cards when the user goes to another page."""

_CARDS = {REVIEW: REVIEW_STATE, ADJUDICATE: ADJUDICATION_STATE}

_APP_RAN = "app_ran"

# These scripts handle held keys, the slash, editors with their drafts, and lost connections, after
# which they redraw the page.
_scripts = st.components.v2.component(
    "hedgerow_page",
    js=formatting.script(*(f"shared/scripts/{name}.js" for name in ("typing", "editor", "page"))),
)


def app_runs() -> None:
    """Record that app.py has run; it calls this when the user may read the project."""
    st.session_state[_APP_RAN] = True


def begin(title: str, purpose: str, *, compact: bool = False) -> None:
    """Draw the title of the page and a sentence on its purpose.

    If the first visitor of a new server opens a page by its URL, Streamlit runs the page's file
    without app.py: it takes ``pages/`` for its older kind of navigation until somebody has called
    ``st.navigation``. So this function calls it and starts the run again through app.py.

    Args:
        compact: put both in one line at the very top, on a page that needs the space.
    """
    if not st.session_state.get(_APP_RAN):
        navigate()
        st.rerun()
    leave_cards(but=_CARDS.get(title, ""))
    with st.container(key="head-compact" if compact else "head"):
        st.title(title, anchor=False)
        st.caption(purpose)
    formatting.emit_style()
    _scripts(key="page-scripts", on_returned_change=lambda: None)


def section(names: Sequence[str], *, key: str, label: str = "Section") -> str:
    """Draw the choice of a section. Return the chosen one, by default the first.

    Args:
        key: of the choice in the session and in the URL.
        label: the name of the choice for screen readers.
    """
    chosen: str | None = st.segmented_control(
        label,
        names,
        key=key,
        default=names[0],
        required=True,
        bind="query-params",
        label_visibility="collapsed",
    )
    return chosen or names[0]


# -- The app's window, and its pages in the order of the data flow --------------------------------


_ICON, _LOGO = (str(Path(__file__).with_name(name)) for name in ("icon.svg", "logo.svg"))

_SIDEBAR = 248
"""Width in pixels: fits the longest page name and leaves the rest to narrow windows."""


def navigate() -> st.Page:
    """Set up the window and list the pages in its sidebar. Return the page to run."""
    # Our own pictures, because Streamlit would fetch its page icons from another server, and the
    # app must not make requests to any other server.
    st.set_page_config(
        page_title="Hedgerow",
        page_icon=_ICON,
        layout="wide",
        initial_sidebar_state=_SIDEBAR,
    )
    st.logo(_LOGO, icon_image=_ICON)
    return st.navigation(
        [
            st.Page(
                "pages/overview.py",
                title="Overview",
                icon=":material/conversion_path:",
                default=True,
            ),
            st.Page("pages/anchors.py", title="Anchors", icon=":material/notes:"),
            st.Page("pages/generate.py", title="Generate", icon=":material/edit_note:"),
            st.Page("pages/review.py", title="Review", icon=":material/rate_review:"),
            st.Page("pages/adjudicate.py", title="Adjudicate", icon=":material/balance:"),
            st.Page("pages/team.py", title="Team", icon=":material/groups:"),
            st.Page("pages/diagnostics.py", title="Diagnostics", icon=":material/bar_chart:"),
            st.Page("pages/release.py", title="Release & export", icon=":material/inventory_2:"),
            st.Page("pages/train.py", title="Train", icon=":material/model_training:"),
            st.Page("pages/compare.py", title="Compare", icon=":material/compare_arrows:"),
            st.Page("pages/benchmarks.py", title="Benchmarks", icon=":material/leaderboard:"),
            st.Page("pages/taxonomy.py", title="Taxonomy", icon=":material/category:"),
            st.Page("pages/settings.py", title="Settings", icon=":material/settings:"),
        ],
        expanded=True,  # otherwise the last pages are behind "View more"
    )


# -- The choice of a light or dark theme, stored by the browser -----------------------------------


COOKIE = "hedgerow_theme"
THEMES = {"System": "Same as system", "Light": "Light", "Dark": "Dark"}
"""Streamlit's names of its themes, and our labels."""

_PAGES = Path(__file__).parents[3]

_component = st.components.v2.component(
    "hedgerow_theme", js=formatting.script("shared/shell/theme.js")
)


def theme_choice() -> None:
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
        formatting.remember(COOKIE, chosen)  # for the app
        _component(key="choose-theme", data={"theme": chosen, "pages": pages})
