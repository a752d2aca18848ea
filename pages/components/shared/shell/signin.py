"""Who is at this page: a person who has signed in, or else a name that they gave.

Where the settings or Streamlit's secrets ask for a sign-in (see docs/sign_in.md), the provider says
who it is. Otherwise it is a name in the session, or from the settings; never in the URL.
"""

from collections.abc import Hashable, Mapping
from contextlib import suppress
from urllib.parse import parse_qs, unquote, urlencode

import streamlit as st
from streamlit.errors import StreamlitAuthError
from streamlit.runtime.scriptrunner import get_script_run_ctx

from curation.review.people.reviewers import MAX_NAME, ensure_reviewer, is_person, person_now
from curation.review.people.roles import (
    Actor,
    Role,
    acting_role,
    set_who_acts,
)
from curation.review.people.signing_in import claims_of, sign_in
from db.errors import HedgerowError
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.label import plain
from pages.components.shared.shell import error_messages, open_project

_NAME = "reviewer_name"
_ID = "reviewer_id"
_SIGNED_IN = "signed_in"
"""What the provider's token says who signed in, and the id of their row."""
_COOKIE = "hedgerow_reviewer"
_CAME_FOR = "hedgerow_came_for"
"""The address that was asked for before the sign-in, which ends at the first page."""
_KEPT = "press-kept-for-a-name"
_CHANGE, _NAMED = "change-name", "name-just-given"
"""Whether the form for another name is open, and whether it has done what it is for."""

_NO_SIGN_IN = (
    "The settings name who signs in (HEDGEROW_SIGN_IN_LEADS), but expected a section [auth] in "
    ".streamlit/secrets.toml and found none; add it, and start Hedgerow again."
)
_NO_LEADS = (
    "People sign in here ([auth] in .streamlit/secrets.toml), but no setting says who is a lead; "
    "set HEDGEROW_SIGN_IN_LEADS, and start Hedgerow again."
)


@st.cache_resource(show_spinner=False)
def _providers() -> tuple[str, ...] | None:
    """The names of the providers to choose from, '' for the only one; None where nobody signs in.

    Read once: a file of secrets that is taken away must not open the app to everybody.

    Raises:
        HedgerowError: half of what a sign-in needs is set.
    """
    settings = open_project.settings()
    found = st.secrets["auth"] if st.secrets.load_if_toml_exists() and "auth" in st.secrets else {}
    if not found and not (settings.sign_in_leads or settings.sign_in_reviewers):
        return None
    if not found:
        raise HedgerowError(_NO_SIGN_IN)
    if not settings.sign_in_leads:
        raise HedgerowError(_NO_LEADS)
    named = [key for key, value in found.items() if isinstance(value, Mapping)]
    return tuple(key for key in named if key != "client_kwargs") or ("",)


def signs_in() -> bool:
    """Whether people sign in here, instead of giving a name."""
    return _providers() is not None


def _token() -> str:
    """What the provider's token says, as one value; '' for nobody."""
    said = st.user.to_dict()
    return repr(sorted(said.items(), key=str)) if said.get("is_logged_in") else ""


def acting() -> Actor:
    """Who acts: this page's person. Outside of a page it is the machine's owner."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return Role.LEAD
    if signs_in():
        token, row = st.session_state.get(_SIGNED_IN, ("", None))
        return row if row is not None and token == _token() else Role.VIEWER
    return st.session_state.get(_ID, Role.LEAD)


def begin(page: st.Page) -> None:
    """Say in the sidebar who is at this page; where nobody has signed in, ask for that and stop.

    Args:
        page: the one that the address names.
    """
    set_who_acts(acting, open_project.engine())
    if not signs_in():
        _by_name()
    elif not (token := _token()):
        _ask_to_sign_in(page)
        st.stop()
    else:
        _signed_in(token)
        _go_where_asked(page)


# -- signed in -------------------------------------------------------------------------


def _ask_to_sign_in(page: st.Page) -> None:
    address = urlencode([(k, one) for k in st.query_params for one in st.query_params.get_all(k)])
    markup.remember(_CAME_FOR, f"{page.url_path}?{address}")
    markup.style()
    st.title("Hedgerow", anchor=False)
    st.write("Sign in to read and review this project.")
    for name in _providers() or ():
        label = f"Sign in with {plain(name)}" if name else "Sign in"
        if st.button(label, key=f"sign-in-{name}", type="primary"):
            try:
                st.login(name or None)
            except StreamlitAuthError as error:
                raise HedgerowError(
                    "The section [auth] in .streamlit/secrets.toml is incomplete: it needs "
                    "redirect_uri, cookie_secret, client_id, client_secret and "
                    "server_metadata_url."
                ) from error
    st.caption("If you see this page again, the sign-in did not succeed or has expired.")


def _signed_in(token: str) -> None:
    if st.session_state.get(_SIGNED_IN, ("", None))[0] != token:
        for key in list(st.session_state):
            del st.session_state[key]  # of somebody else, in the same window
        who = claims_of(st.user.to_dict())
        row = open_project.tell_for_the_project(sign_in, who, open_project.settings())
        st.session_state[_SIGNED_IN] = (token, row.id)
        st.session_state[_ID] = row.id
        st.session_state[_NAME] = row.name
        follow_people()
    st.sidebar.text(f"Signed in as {st.session_state[_NAME]}")
    _say_role(but=None)
    if st.sidebar.button("Sign out", icon=":material/logout:", width="stretch"):
        st.logout()


def _go_where_asked(page: st.Page) -> None:
    """Once, go on to the address that was asked for before the sign-in."""
    path, _, query = unquote(st.context.cookies.get(_CAME_FOR, "")).partition("?")
    if not st.session_state.get(_CAME_FOR) and not (page.url_path or st.query_params):
        st.session_state[_CAME_FOR] = True
        if path or query:
            st.switch_page(f"pages/{path or 'overview'}.py", query_params=parse_qs(query))
    markup.remember(_CAME_FOR, "")


# -- by name ---------------------------------------------------------------------------


def _take_name(name: str) -> None:
    reviewer = open_project.tell_for_the_project(ensure_reviewer, name)
    st.session_state[_NAME], st.session_state[_ID] = reviewer.name, reviewer.id


def _is_known(name: str) -> bool:
    return open_project.ask(is_person, name)


def _by_name() -> None:
    """Say who is reviewing, and let that be changed.

    A name in the settings wins; else it is the name last used in this browser, if this project
    knows it.
    """
    if _ID not in st.session_state:
        name = open_project.settings().reviewer or unquote(st.context.cookies.get(_COOKIE, ""))
        if name and (name == open_project.settings().reviewer or _is_known(name)):
            try:
                _take_name(name)
            except HedgerowError as error:
                with st.sidebar:
                    error_messages.show(str(error), key="refused-name")
    if _ID in st.session_state:
        markup.remember(_COOKIE, st.session_state[_NAME])
        st.sidebar.text(f"Reviewing as {st.session_state[_NAME]}")
        _say_role(but=Role.LEAD)
        if st.session_state.pop(_NAMED, False):  # or the next keys would go into its field
            st.session_state[_CHANGE] = False
        with st.sidebar.popover(
            "Change", icon=":material/person:", width="stretch", key=_CHANGE, on_change="rerun"
        ):
            name_form("Review under another name", key="signin-change")


def _say_role(*, but: Role | None) -> None:
    """Say in the sidebar what the role is, unless it is this one."""
    with suppress(Exception):  # where the database fails, the page says so
        if (role := open_project.ask(acting_role)) is not but:
            st.sidebar.caption(f"Your role: {role}")


def reviewer_id() -> int | None:
    """The person at this page, or None where nobody has given a name."""
    return st.session_state.get(_ID)


def follow_people() -> None:
    """Go on as whom the person here is now: people have been renamed, merged or separated."""
    if _NAME in st.session_state:
        _, row = st.session_state.get(_SIGNED_IN, ("", st.session_state[_ID]))
        now = open_project.ask(person_now, row)
        st.session_state[_NAME], st.session_state[_ID] = now.name, now.id


def name_form(label: str, *, key: str, button: str = "Start reviewing") -> None:
    """Ask for a name; the first use of a name adds the reviewer."""
    with st.container(key=f"type-here-{key}"), st.form(key, border=False):
        name = st.text_input(label, max_chars=MAX_NAME, placeholder="Your name")
        if st.form_submit_button(button) and name.strip():
            try:
                _take_name(name)
            except HedgerowError as error:
                error_messages.show(str(error), key=f"refused-{key}")
            else:
                if st.session_state.get(_KEPT, ("", None))[0] != key:
                    st.session_state.pop(_KEPT, None)  # another form asked for it
                st.session_state[_NAMED] = True
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
