"""Publishing on the Hub: the repository, its visibility, the token, and the last push."""

import streamlit as st

from db.errors import HedgerowError
from db.models import Run, RunState
from db.runs import UNFINISHED
from pages.components.shared.formatting import clock
from pages.components.shared.hub import access_token
from pages.components.shared.runs import background, progress_view
from pages.components.shared.shell import error_messages, open_project, rights, signin
from training.hub.publishing import LONGEST_REPO
from training.hub.push_run import Subject, pushes, request_one_push


@error_messages.fragment  # naming a repository does not redraw what is above
def show(subject: Subject, *, what: str) -> None:
    """The push in progress, or else the result of the last one and the form for the next one.

    Args:
        what: what is pushed, such as ``the model``. It must not contain user text.
    """
    runs = open_project.ask(pushes, subject)
    if runs and runs[0].state in UNFINISHED:
        progress_view.follow(runs[0], title=f"Push {what} to {runs[0].parameters['repo']}")
        return
    if runs and runs[0].state != RunState.DONE:
        progress_view.stopped(runs[0], again=lambda: _again(runs[0]))
    if done := next((run for run in runs if run.state == RunState.DONE), None):
        _made(done)
    with st.container(border=True, key=f"push-{subject.group}"):
        _form(subject, what, runs)


def _made(run: Run) -> None:
    """The result of the last push."""
    seen = "private" if run.result["private"] else "public"
    ended = f"{clock.local(run.finished_at):%Y-%m-%d %H:%M}" if run.finished_at else ""
    with st.container(horizontal=True, vertical_alignment="center", key=f"pushed-{run.id}"):
        st.text(
            f"Pushed to {run.result['repo']} ({seen}) on {ended}, commit "
            f"{run.result['commit'][:12]}.",
            width="content",
        )
        st.link_button("Open on the Hub", run.result["url"], icon=":material/open_in_new:")


@rights.for_leads("publish")
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
    access_token.draw(subject.group)
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
    if not access_token.is_set():
        raise HedgerowError("Expected an access token for the Hub, found none; type one in.")
    run = open_project.tell(
        request_one_push,
        subject,
        repo=st.session_state[_key(subject, "repo")],
        private=st.session_state[_key(subject, "private")],
        requested_by=signin.reviewer_id(),
    )
    if run is not None:  # otherwise somebody else has just started one, which is shown
        background.start_process_of(run, access_token.environment())


def _again(run: Run) -> None:
    background.start_again(run, access_token.environment())
