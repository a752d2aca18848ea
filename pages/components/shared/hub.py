"""Publishing on the Hub: the repository, its visibility, the access token, and the last push."""

import streamlit as st

from db.models import Run, RunState
from db.runs import UNFINISHED
from db.settings import HUB_TOKEN
from pages.components.shared import formatting, page_runs, typed_secrets
from pages.components.shared.shell import current_user, error_messages, open_project
from training.hub.publishing import LONGEST_REPO, token_source
from training.hub.push_run import PUSH, Push, Subject, pushes


@error_messages.fragment  # naming a repository does not redraw what is above
def push_box(subject: Subject, *, what: str) -> None:
    """The push in progress, or else the result of the last one and the form for the next one.

    Args:
        what: what is pushed, such as ``the model``. It must not contain user text.
    """
    runs = open_project.ask(pushes, subject)
    if runs and runs[0].state in UNFINISHED:
        page_runs.follow(runs[0], title=f"Push {what} to {runs[0].parameters['repo']}")
        return
    if runs and runs[0].state != RunState.DONE:
        page_runs.stopped(
            runs[0], again=lambda: page_runs.start_again(runs[0], token_environment())
        )
    if done := next((run for run in runs if run.state == RunState.DONE), None):
        _made(done)
    with st.container(border=True, key=f"push-{subject.group}"):
        _form(subject, what, runs)


def _made(run: Run) -> None:
    """The result of the last push."""
    seen = "private" if run.result["private"] else "public"
    ended = f"{formatting.local(run.finished_at):%Y-%m-%d %H:%M}" if run.finished_at else ""
    with st.container(horizontal=True, vertical_alignment="center", key=f"pushed-{run.id}"):
        st.text(
            f"Pushed to {run.result['repo']} ({seen}) on {ended}, commit "
            f"{run.result['commit'][:12]}.",
            width="content",
        )
        st.link_button("Open on the Hub", run.result["url"], icon=":material/open_in_new:")


@current_user.for_leads("publish")
def _form(subject: Subject, what: str, runs: list[Run]) -> None:
    last = runs[0].parameters if runs else {}
    st.text_input(
        "Repository",
        value=last.get("repo", ""),
        key=_key(subject, "repo"),
        placeholder="owner/name",
        max_chars=LONGEST_REPO,
        width=480,
        help="A repository on the Hugging Face Hub, or on the hub that HF_ENDPOINT names. If it "
        "does not exist, Hedgerow creates it. Otherwise, Hedgerow adds a commit and keeps other "
        "files.",
    )
    st.toggle(
        "Private",
        value=bool(last.get("private", True)),
        key=_key(subject, "private"),
        help="Only you or your organisation can see a private repository.",
    )
    token_field(subject.group)
    st.button(
        f"Push {what} to the Hub",
        key=_key(subject, "start"),
        on_click=_start,
        args=(subject,),
        icon=":material/cloud_upload:",
    )


def _key(subject: Subject, name: str) -> str:
    return f"push-{name}-{subject.group}"


def _start(subject: Subject) -> None:
    repo, private = (st.session_state[_key(subject, name)] for name in ("repo", "private"))
    request = Push(**subject._asdict(), repo=repo, private=private)
    page_runs.begin(PUSH, request, token_environment())


# -- access token ---------------------------------------------------------------------------------


_TOKEN = "hub-token"
_SOURCES = {
    "environment": f"Access token: set in the environment ({HUB_TOKEN}).",
    "login": "Access token: from the login on this machine (hf auth login).",
}


def token_environment() -> dict[str, str]:
    """Environment variables for a push's process."""
    token = typed_secrets.typed(_TOKEN)
    return {HUB_TOKEN: token} if token else {}


def token_field(place: str) -> None:
    """Show the source of the token, with a box to enter one or a button to remove it.

    Args:
        place: distinguishes this box from others.
    """
    if typed_secrets.entered(
        _TOKEN, "Access token: entered for this session.", key=f"hub-forget-{place}"
    ):
        return
    if source := token_source():
        st.text(_SOURCES[source])
    typed_secrets.box(
        "Another access token, for this session only"
        if source
        else "Access token, for this session only",
        _TOKEN,
        key=f"hub-token-{place}",
        placeholder="hf_…",
        width=480,
        help="A token with write access from your settings on the Hub. To set it for all sessions, "
        f"use {HUB_TOKEN} in the environment. It is never stored in the database or a log.",
    )
