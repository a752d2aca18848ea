"""Runs that pages start, each in its own process."""

import time
from collections.abc import Mapping
from typing import Any

import streamlit as st

from curation.decisions.roles import for_the_project
from curation.diagnostics.measuring import KIND as MEASURE
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
        ensure_run, kind=kind, parameters=parameters or {}, requested_by=signin.reviewer_id()
    )
    if ensured.is_new:
        start_process_of(ensured.run)


def measure() -> None:
    """Measure variants without measurements, unless a run is doing so."""
    ensure(MEASURE)


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
