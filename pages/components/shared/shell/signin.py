"""Who is reviewing: a name in the session, or from the settings; never in the URL."""

from collections.abc import Hashable
from urllib.parse import unquote

import streamlit as st

from curation.review.people.reviewers import MAX_NAME, ensure_reviewer, is_person, person_now
from db.errors import HedgerowError
from pages.components.shared.formatting import markup
from pages.components.shared.shell import error_messages, open_project

_NAME = "reviewer_name"
_ID = "reviewer_id"
_COOKIE = "hedgerow_reviewer"
_KEPT = "press-kept-for-a-name"


def _sign_in(name: str) -> None:
    reviewer = open_project.tell(ensure_reviewer, name)
    st.session_state[_NAME], st.session_state[_ID] = reviewer.name, reviewer.id


def _is_known(name: str) -> bool:
    return open_project.ask(is_person, name)


def sidebar() -> None:
    """Say in the sidebar who is reviewing, and let that be changed.

    A name in the settings wins; else it is the name last used in this browser, if this project
    knows it.
    """
    if _ID not in st.session_state:
        name = open_project.settings().reviewer or unquote(st.context.cookies.get(_COOKIE, ""))
        if name and (name == open_project.settings().reviewer or _is_known(name)):
            try:
                _sign_in(name)
            except HedgerowError as error:
                with st.sidebar:
                    error_messages.show(str(error), key="refused-name")
    if _ID in st.session_state:
        markup.remember(_COOKIE, st.session_state[_NAME])
        st.sidebar.text(f"Reviewing as {st.session_state[_NAME]}")
        with st.sidebar.popover("Change", icon=":material/person:", width="stretch"):
            name_form("Review under another name", key="signin-change")


def reviewer_id() -> int | None:
    """The signed-in reviewer, or None."""
    return st.session_state.get(_ID)


def follow_people() -> None:
    """Go on as whom the signed-in person is now: people have been renamed, merged or separated."""
    if _NAME in st.session_state:
        now = open_project.ask(person_now, st.session_state[_ID])
        st.session_state[_NAME], st.session_state[_ID] = now.name, now.id


def name_form(label: str, *, key: str, button: str = "Start reviewing") -> None:
    """Ask for a name; the first use of a name adds the reviewer."""
    with st.container(key=f"type-here-{key}"), st.form(key, border=False):
        name = st.text_input(label, max_chars=MAX_NAME, placeholder="Your name")
        if st.form_submit_button(button) and name.strip():
            try:
                _sign_in(name)
            except HedgerowError as error:
                error_messages.show(str(error), key=f"refused-{key}")
            else:
                if st.session_state.get(_KEPT, ("", None))[0] != key:
                    st.session_state.pop(_KEPT, None)  # another form asked for it
                st.rerun()


def kept_press(pressed: bool, *, key: str, of: Hashable) -> bool:
    """Whether a button was pressed, now or before the form that asks for a name was filled in.

    Streamlit reports a press only once, so the form would vanish when it is submitted and the act
    would be lost.

    Args:
        pressed: what the button returned.
        key: the key of the name form that the press opens.
        of: what the press is about; a press about something else is forgotten.
    """
    if pressed and reviewer_id() is None:
        st.session_state[_KEPT] = (key, of)
    kept = st.session_state.get(_KEPT) == (key, of)
    if not kept and st.session_state.get(_KEPT, ("", None))[0] == key:
        del st.session_state[_KEPT]  # something else was chosen since
    if kept and reviewer_id() is not None:
        del st.session_state[_KEPT]
    return pressed or kept
