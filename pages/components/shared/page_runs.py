"""Runs that pages start, each in its own process: their state, progress, time left and log.

A run's messages can quote user texts, so they are never rendered as Markdown.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import streamlit as st

from curation.actions import Action, Wanted
from curation.decisions.roles import for_the_project
from curation.diagnostics.measuring import KIND as MEASURE
from curation.formatting import duration
from db.columns import now
from db.errors import HedgerowError
from db.models import Run, RunState, TeamRole
from db.run_process import last_log_lines, start_process
from db.runs import (
    UNFINISHED,
    create_run,
    ensure_run,
    get_run,
    request_cancel,
    request_pause,
    requeue,
    under_way,
)
from pages.components.shared import formatting
from pages.components.shared.shell import current_user, error_messages, open_project
from training.runs.kinds import cancel_run, kind_of

QUIET_SECONDS = 120.0
"""Edits within this time are measured together: loading an encoder takes seconds."""


MOST_ATTEMPTS = 5
"""A run that has ended this often before its end is not restarted by itself."""


def start(kind: str, parameters: dict[str, Any]) -> Run:
    """Store a run and start its process."""
    run = open_project.tell(
        create_run, kind=kind, parameters=parameters, requested_by=current_user.reviewer_id()
    )
    start_process_of(run)
    return run


def begin(
    action: Action[Wanted, Run], wanted: Wanted, keys: Mapping[str, str] | None = None
) -> None:
    """Store the run of an action, and start its process.

    Args:
        keys: keys that the user has entered, for this process; they are not stored.
    """
    start_process_of(action.perform(current_user.project(keys), wanted), keys)


def start_process_of(run: Run, environment: Mapping[str, str] | None = None) -> None:
    """Start a stored run's process. If that fails, the run is cancelled.

    Args:
        environment: additional variables for this process; they are not stored.
    """
    try:
        start_process(open_project.settings(), run, environment)
    except HedgerowError:
        open_project.tell(request_cancel, run.id)
        raise


def start_again(run: Run, environment: Mapping[str, str] | None = None) -> None:
    """Restart a run that stopped before its end."""
    open_project.tell(requeue, run.id)
    start_process_of(run, environment)


def active(kind: str) -> Run | None:
    """The run of this kind that is queued or running, if there is one."""
    return next(iter(open_project.ask(under_way, kind)), None)


def ensure(kind: str, parameters: dict[str, Any] | None = None) -> None:
    """Start a run of this kind, unless one is in progress."""
    ensured = open_project.tell(
        ensure_run, kind=kind, parameters=parameters or {}, requested_by=current_user.reviewer_id()
    )
    if ensured.is_new:
        start_process_of(ensured.run)


def measure() -> None:
    """Measure variants without measurements, unless a run is doing so."""
    ensure(MEASURE)


def take_up_measuring(runs: Sequence[Run]) -> None:
    """Restart the newest run that measures if its process has ended before its end.

    Args:
        runs: the project's last runs, newest first.
    """
    newest = next((run for run in runs if run.kind == MEASURE), None)
    if newest and newest.state is RunState.INTERRUPTED and newest.attempt < MOST_ATTEMPTS:
        with for_the_project(), suppress(HedgerowError):  # another page has just done it
            start_again(newest)


def measure_edits(edited: int) -> None:
    """Measure the cosines of edited variants, if there are any and no run is doing so."""
    if edited == st.session_state.get("edits_measured", 0):
        return
    if time.monotonic() - st.session_state.get("edits_measured_at", -QUIET_SECONDS) < QUIET_SECONDS:
        return
    with for_the_project():  # reviewers may not start runs
        measure()
    st.session_state["edits_measured"] = edited
    st.session_state["edits_measured_at"] = time.monotonic()


# -- progress view --------------------------------------------------------------------------------


REFRESH_SECONDS = 2.0
LOG_LINES = 12
UNCLAIMED = timedelta(seconds=60)
"""Starting a process takes some seconds. If it takes longer than this, it has failed."""

ENOUGH_STEPS = 20
WATCHED, GONE_ON = timedelta(seconds=15), timedelta(seconds=90)
"""Time needed to estimate a run's speed: since this session first saw a step, or since the run's
start, which must be long ago because loading an encoder distorts the average."""

STATES = {
    RunState.QUEUED: "waiting",
    RunState.RUNNING: "running",
    RunState.DONE: "done",
    RunState.FAILED: "failed",
    RunState.CANCELLED: "cancelled",
    RunState.INTERRUPTED: "interrupted",
    RunState.PAUSED: "paused",
}

Draw = Callable[[Run], None]


def named(run: Run, title: str) -> str:
    """The label of a run in a menu: its number, title, date and state."""
    when = f"{formatting.local(run.created_at):%Y-%m-%d %H:%M}"
    return f"Run {run.id}: {title}, {when}, {STATES[run.state]}"


def follow(run: Run, *, title: str = "", more: Draw | None = None, pausable: bool = False) -> None:
    """Show a run that is queued or running. Only this part refreshes until the run has ended.

    Then the whole page reruns, so that it can show the result.

    Args:
        title: what the run does; by default, the title of its kind.
        more: draws details of this kind of run between the progress and the log.
        pausable: whether it can be paused and resumed.
    """
    with st.container(border=True):
        _follow(run.id, title or kind_of(run.kind).title, more, pausable)


@error_messages.fragment(run_every=REFRESH_SECONDS)
def _follow(run_id: int, title: str, more: Draw | None, pausable: bool) -> None:
    run = open_project.ask(get_run, run_id)
    if run.state not in UNFINISHED:
        st.rerun()
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.text(f"Run {run.id}: {title}")
        with st.container(horizontal=True, width="content"):
            if pausable:
                _pause_button(run)
            cancel_button(run)
    st.progress(min(1.0, run.step / run.total) if run.total else 0.0)
    st.text(" · ".join(part for part in (_doing(run), time_left(run)) if part))
    if more is not None:
        more(run)
    log(run, opened=True)


@current_user.for_leads()
def _pause_button(run: Run) -> None:
    stops = run.cancel_requested or run.pause_requested
    st.button(
        "Pausing …" if run.pause_requested else "Pause",
        key=f"pause-{run.id}",
        disabled=stops or run.state != RunState.RUNNING,
        on_click=open_project.tell,
        args=(request_pause, run.id),
    )


@current_user.for_leads()
def cancel_button(run: Run) -> None:
    """A button that cancels a run."""
    st.button(
        "Cancelling …" if run.cancel_requested else "Cancel",
        key=f"cancel-{run.id}",
        disabled=run.cancel_requested,
        on_click=_cancel,
        args=(run.id,),
    )


def _cancel(run_id: int) -> None:
    cancel_run(open_project.engine(), open_project.settings(), run_id)


def _doing(run: Run) -> str:
    if run.state == RunState.RUNNING:
        return run.message.rstrip(".")
    if now() - run.created_at > UNCLAIMED and run.attempt == 0:
        return f"The run has not started. Cancel it, or run 'hedgerow run {run.id}' in a terminal."
    return "Waiting for the run to start"


def time_left(run: Run) -> str:
    """The estimated time left of a running run in words; empty until it is known.

    The estimate uses the speed since this session first saw a step, because a run loads its encoder
    before. Until the session has seen enough, it uses the whole run, if that has run for long.
    """
    if not (run.started_at and run.heartbeat_at and run.step and run.total):
        return ""
    key = f"pace-{run.id}-{run.attempt}"
    first_step, since = st.session_state.setdefault(key, (run.step, run.heartbeat_at))
    seen, took = run.step - first_step, run.heartbeat_at - since
    if seen < _enough(run.total) or took < WATCHED:
        seen, took = run.step, run.heartbeat_at - run.started_at
        if seen < _enough(run.total) or took < GONE_ON:
            return ""
    return f"{duration(took.total_seconds() / seen * (run.total - run.step))} left"


def _enough(total: int) -> int:
    """The number of steps needed to estimate the speed, which varies too much over fewer steps."""
    return max(1, min(ENOUGH_STEPS, total // 10))


def log(run: Run, *, opened: bool = False) -> None:
    """The last lines of the run's log, collapsed unless `opened`."""
    with st.expander("Log", expanded=opened, icon=":material/notes:"):
        log_lines(run)


def log_lines(run: Run) -> None:
    """The last lines of the run's log."""
    if lines := last_log_lines(open_project.settings(), run, count=LOG_LINES):
        st.code("\n".join(lines), language=None, wrap_lines=True)
    else:
        st.caption("The log is empty.")


def stopped(
    run: Run, *, again: Callable[[], object] | None = None, label: str = "Start it again"
) -> None:
    """Show a run that failed, was cancelled or interrupted: the reason, the log, and a button.

    Args:
        again: restarts the run; None if that is not possible now. Why it failed is shown here.
        label: the label of the button that restarts it.
    """
    key = f"again-{run.id}"
    with st.container(border=True, key=f"stopped-{run.id}"):
        st.text(why(run))
        if again is not None and current_user.may(TeamRole.LEAD):
            st.button(label, key=key, on_click=_again, args=(key, again))
            error_messages.show_kept(key)
        log(run, opened=run.state == RunState.FAILED)


def _again(key: str, again: Callable[[], object]) -> None:
    with error_messages.kept_for(key):
        again()


def why(run: Run) -> str:
    """Why a run stopped before its end."""
    if run.state == RunState.FAILED:
        return f"Run {run.id} failed: {run.message}"
    if run.state == RunState.CANCELLED:
        return f"Run {run.id} was cancelled and has no result."
    if run.state == RunState.PAUSED:
        return f"Run {run.id}: {run.message or 'Paused.'}"
    return (
        f"Run {run.id} was interrupted: its process{f' on {run.host}' if run.host else ''} ended "
        "before the run did."
    )
