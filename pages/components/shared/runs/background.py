"""Runs that pages start, each in its own process."""

import time
from collections.abc import Mapping
from typing import Any

import streamlit as st

from curation.diagnostics.measuring import KIND as MEASURE
from curation.review.people.roles import for_the_project
from db.errors import HedgerowError
from db.models import Run
from db.run_process import start_process
from db.runs import create_run, ensure_run, request_cancel, requeue, under_way
from pages.components.shared.shell import open_project, signin

QUIET_SECONDS = 120.0
"""Edits within this time are measured together: loading an encoder takes seconds."""


def start(kind: str, parameters: dict[str, Any]) -> Run:
    """Store a run and start its process."""
    run = open_project.tell(
        create_run, kind=kind, parameters=parameters, requested_by=signin.reviewer_id()
    )
    start_process_of(run)
    return run


def start_process_of(run: Run, environment: Mapping[str, str] | None = None) -> None:
    """Start a stored run's process; where that fails, no run is left waiting for one.

    Args:
        environment: for this process alone; kept nowhere.
    """
    try:
        start_process(open_project.settings(), run, environment)
    except HedgerowError:
        open_project.tell(request_cancel, run.id)
        raise


def start_again(run: Run, environment: Mapping[str, str] | None = None) -> None:
    """Start the process of a run anew that stopped before its end."""
    open_project.tell(requeue, run.id)
    start_process_of(run, environment)


def active(kind: str) -> Run | None:
    """The run of this kind that is queued or running, if there is one."""
    return next(iter(open_project.ask(under_way, kind)), None)


def ensure(kind: str, parameters: dict[str, Any] | None = None) -> None:
    """Have what there is to do for a kind of run done: start one, unless one is at work."""
    ensured = open_project.tell(
        ensure_run, kind=kind, parameters=parameters or {}, requested_by=signin.reviewer_id()
    )
    if ensured.is_new:
        start_process_of(ensured.run)


def measure() -> None:
    """Have what is not measured yet measured, unless a run is at it."""
    ensure(MEASURE)


def measure_edits(edited: int) -> None:
    """Have the cosines of edited variants measured, if there are any and nobody is at it."""
    if edited == st.session_state.get("edits_measured", 0):
        return
    if time.monotonic() - st.session_state.get("edits_measured_at", -QUIET_SECONDS) < QUIET_SECONDS:
        return
    with for_the_project():  # reviewers start no runs of their own
        measure()
    st.session_state["edits_measured"] = edited
    st.session_state["edits_measured_at"] = time.monotonic()
