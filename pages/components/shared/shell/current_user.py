"""The current user: a person who has signed in, or a name that they have entered; and their rights.

If the settings or Streamlit's secrets require a sign-in (see docs/sign_in.md), the provider names
the person. Otherwise the name comes from the session or the settings, never from the URL. Pages do
not offer what the user may not do, and the library refuses it anyway (see
``curation.review.people.roles``).
"""

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from functools import wraps
from typing import ParamSpec
from urllib.parse import parse_qs, unquote, urlencode

import streamlit as st
from streamlit.errors import StreamlitAuthError
from streamlit.runtime.scriptrunner import get_script_run_ctx

from curation.actions import OpenProject
from curation.decisions.reviewers import MAX_NAME, ensure_reviewer, is_person, person_now
from curation.decisions.roles import Actor, acting_role, allows, set_who_acts
from curation.decisions.signing_in import claims_of, sign_in
from db.errors import HedgerowError
from db.extras import require_package
from db.models import TeamRole
from pages.components.shared import formatting
from pages.components.shared.shell import error_messages, open_project

_NAME = "reviewer_name"
_ID = "reviewer_id"
_SIGNED_IN = "signed_in"
"""The provider's token of the person who signed in, and the id of their row."""
_COOKIE = "hedgerow_reviewer"
_CAME_FOR = "hedgerow_came_for"
"""The URL requested before the sign-in, which itself ends on the first page."""
_KEPT = "press-kept-for-a-name"
_CHANGE, _NAMED = "change-name", "name-just-given"
"""Whether the form for another name is open, and whether a name was just entered in it."""


@st.cache_resource(show_spinner=False)
def _providers() -> tuple[str, ...] | None:
    """The names of the providers, or '' for a single one without a name; None without sign-in.

    This is read once: deleting the file of secrets must not open the app to everybody.

    Raises:
        HedgerowError: only one of the two things that a sign-in needs is set.
    """
    settings = open_project.settings()
    found = st.secrets["auth"] if st.secrets.load_if_toml_exists() and "auth" in st.secrets else {}
    if not found and not (settings.sign_in_leads or settings.sign_in_reviewers):
        return None
    if not found:
        raise HedgerowError(
            "HEDGEROW_SIGN_IN_LEADS is set, but .streamlit/secrets.toml has no section [auth]; "
            "add it and restart Hedgerow."
        )
    if not settings.sign_in_leads:
        raise HedgerowError(
            ".streamlit/secrets.toml has a section [auth], but no setting names the leads; set "
            "HEDGEROW_SIGN_IN_LEADS and restart Hedgerow."
        )
    require_package("authlib", by="Sign-ins")
    named = [key for key, value in found.items() if isinstance(value, Mapping)]
    return tuple(key for key in named if key != "client_kwargs") or ("",)


def signs_in() -> bool:
    """Whether people sign in, rather than enter a name."""
    return _providers() is not None


def _token() -> str:
    """The claims of the provider's token as one value; '' if nobody has signed in."""
    claims = st.user.to_dict()
    return repr(sorted(claims.items(), key=str)) if claims.get("is_logged_in") else ""


def acting() -> Actor:
    """Who acts: the current user. Outside a page it is the owner of the machine, who is a lead."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return TeamRole.LEAD
    if signs_in():
        token, row = st.session_state.get(_SIGNED_IN, ("", None))
        return row if row is not None and token == _token() else TeamRole.VIEWER
    return st.session_state.get(_ID, TeamRole.LEAD)


def begin(page: st.Page) -> None:
    """Show the current user in the sidebar. If a sign-in is required, ask for it and stop.

    Args:
        page: the page that the URL names.
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
    formatting.remember(_CAME_FOR, f"{page.url_path}?{address}")
    formatting.emit_style()
    st.title("Hedgerow", anchor=False)
    st.write("Sign in to read and review this project.")
    for name in _providers() or ():
        label = f"Sign in with {formatting.plain(name)}" if name else "Sign in"
        if st.button(label, key=f"sign-in-{name}", type="primary"):
            try:
                st.login(name or None)
            except StreamlitAuthError as error:
                raise HedgerowError(
                    "The section [auth] in .streamlit/secrets.toml is incomplete: it needs "
                    "redirect_uri, cookie_secret, client_id, client_secret and "
                    "server_metadata_url."
                ) from error
    st.caption("If you see this page again, the sign-in has failed or expired.")


def _signed_in(token: str) -> None:
    if st.session_state.get(_SIGNED_IN, ("", None))[0] != token:
        for key in list(st.session_state):
            del st.session_state[key]  # it belongs to the person before, in the same window
        who = claims_of(st.user.to_dict())
        row = open_project.tell_for_the_project(sign_in, who, open_project.settings())
        st.session_state[_SIGNED_IN] = (token, row.id)
        st.session_state[_ID] = row.id
        st.session_state[_NAME] = row.name
        follow_people()
    st.sidebar.text(f"Signed in as {st.session_state[_NAME]}")
    _show_role(but=None)
    if st.sidebar.button("Sign out", icon=":material/logout:", width="stretch"):
        st.logout()


def _go_where_asked(page: st.Page) -> None:
    """Go to the URL that was requested before the sign-in, once."""
    path, _, query = unquote(st.context.cookies.get(_CAME_FOR, "")).partition("?")
    if not st.session_state.get(_CAME_FOR) and not (page.url_path or st.query_params):
        st.session_state[_CAME_FOR] = True
        if path or query:
            st.switch_page(f"pages/{path or 'overview'}.py", query_params=parse_qs(query))
    formatting.remember(_CAME_FOR, "")


# -- by name ---------------------------------------------------------------------------


def _take_name(name: str) -> None:
    reviewer = open_project.tell_for_the_project(ensure_reviewer, name)
    st.session_state[_NAME], st.session_state[_ID] = reviewer.name, reviewer.id


def _by_name() -> None:
    """Show the current name in the sidebar, with a form to change it.

    A name in the settings comes first, then the name last used in this browser if the project
    knows it.
    """
    if _ID not in st.session_state:
        name = open_project.settings().reviewer or unquote(st.context.cookies.get(_COOKIE, ""))
        if name and (name == open_project.settings().reviewer or open_project.ask(is_person, name)):
            try:
                _take_name(name)
            except HedgerowError as error:
                with st.sidebar:
                    error_messages.show(str(error), key="refused-name")
    if _ID in st.session_state:
        formatting.remember(_COOKIE, st.session_state[_NAME])
        verb = "Reading" if _role() is TeamRole.VIEWER else "Reviewing"
        st.sidebar.text(f"{verb} as {st.session_state[_NAME]}")
        _show_role(but=TeamRole.LEAD)
        if st.session_state.pop(_NAMED, False):  # otherwise its field gets the next keys
            st.session_state[_CHANGE] = False
        with st.sidebar.popover(
            "Change", icon=":material/person:", width="stretch", key=_CHANGE, on_change="rerun"
        ):
            name_form("Continue under another name", key="signin-change", button="Continue")


def _role() -> TeamRole | None:
    """The role of the current user; None if the database fails, which the page itself reports."""
    with suppress(Exception):
        return open_project.ask(acting_role)
    return None


def _show_role(*, but: TeamRole | None) -> None:
    """Show the role in the sidebar, unless it is this one."""
    if (role := _role()) not in (None, but):
        st.sidebar.caption(f"Your role: {role}")


def reviewer_id() -> int | None:
    """The id of the current user, or None if nobody has entered a name."""
    return st.session_state.get(_ID)


def project(keys: Mapping[str, str] | None = None) -> OpenProject:
    """The project in which an action happens; the current user acts, with these keys."""
    author = reviewer_id()
    settings, engine = open_project.settings(), open_project.engine()
    return OpenProject(settings, engine, lambda _: author, keys=keys or {})


def follow_people() -> None:
    """Update the name and id of the current user after people were renamed, merged or separated."""
    if _NAME in st.session_state:
        _, row = st.session_state.get(_SIGNED_IN, ("", st.session_state[_ID]))
        now = open_project.ask(person_now, row)
        st.session_state[_NAME], st.session_state[_ID] = now.name, now.id


def name_form(label: str, *, key: str, button: str = "Start reviewing") -> None:
    """Ask for a name. The first use of a name adds the reviewer."""
    with st.container(key=f"type-here-{key}"), st.form(key, border=False):
        name = st.text_input(label, max_chars=MAX_NAME)
        if st.form_submit_button(button) and name.strip():
            try:
                _take_name(name)
            except HedgerowError as error:
                error_messages.show(str(error), key=f"refused-{key}")
            else:
                if st.session_state.get(_KEPT, ("", None))[0] != key:
                    st.session_state.pop(_KEPT, None)  # it belongs to another form
                st.session_state[_NAMED] = True
                st.rerun()


def kept_press(pressed: bool, *, key: str, of: Hashable) -> bool:
    """Whether a button was pressed, now or before the name form that it opened was submitted.

    Streamlit reports a press only once, so the form would disappear when it is submitted, and the
    action would be lost.

    Args:
        pressed: the return value of the button.
        key: the key of the name form that the press opens.
        of: the object of the action; a press for another object is forgotten.
    """
    if pressed and reviewer_id() is None:
        st.session_state[_KEPT] = (key, of)
    kept = st.session_state.get(_KEPT) == (key, of)
    if not kept and st.session_state.get(_KEPT, ("", None))[0] == key:
        del st.session_state[_KEPT]  # something else was chosen since then
    if kept and reviewer_id() is not None:
        del st.session_state[_KEPT]
    return pressed or kept


# -- rights ---------------------------------------------------------------------------------------


_P = ParamSpec("_P")


def may(least: TeamRole) -> bool:
    """Whether the user has at least this role."""
    return allows(open_project.ask(acting_role), least)


def only_leads(do: str) -> bool:
    """Whether the user is a lead. If not, say that only leads can do this.

    Args:
        do: a verb phrase for what leads can do here; '' to say nothing.
    """
    if may(TeamRole.LEAD):
        return True
    if do:
        st.caption(f"Only leads can {do}.")
    return False


def for_leads(do: str = "") -> Callable[[Callable[_P, None]], Callable[_P, None]]:
    """Decorate a part of a page that is only for leads. Others see a sentence that says so.

    Args:
        do: as in ``only_leads``.
    """

    def of(draw: Callable[_P, None]) -> Callable[_P, None]:
        @wraps(draw)
        def draw_for_leads(*args: _P.args, **kwargs: _P.kwargs) -> None:
            if only_leads(do):
                draw(*args, **kwargs)

        return draw_for_leads

    return of
