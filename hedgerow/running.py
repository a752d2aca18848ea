"""Executing a stored run in this process, with a progress bar."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.generation.calls import count_calls
from curation.generation.judging.opinion_request import KIND as JUDGE
from curation.generation.request import KIND as GENERATE
from curation.generation.run_report import progress
from db.engine import reading, writing
from db.errors import HedgerowError, RunEnded
from db.execution import WAITING, execute
from db.models import CallState, Run, RunState
from db.runs import ensure_run, get_run, last_metrics
from db.settings import Settings
from hedgerow.home import asked_by
from hedgerow.progress import Report, err, is_watched, progress_bar, text_of
from training.runs.kinds import WORK, kind_of

FOLLOW_SECONDS = 0.5

PATHS = ("model", "merged", "folder", "zip")
"""Keys of a result whose values are paths relative to the data folder."""


def carry_out(settings: Settings, engine: Engine, run_id: int) -> dict[str, Any]:
    """Execute a stored run in this process, with a progress bar.

    Returns:
        The number, state and result of the run, with absolute paths.

    Raises:
        RunEnded: the run ended early. The exception has the figures so far.
    """
    try:
        with progress_bar() as report, _following(engine, run_id, report):
            result = execute(engine, settings, run_id, WORK)
    except RunEnded as ended:
        with suppress(HedgerowError), reading(engine) as session:  # a busy database
            run = get_run(session, run_id)
            ended.facts |= {"step": run.step, "total": run.total} | figures_so_far(session, run)
        raise
    return located(settings, result) | {"run": run_id, "state": RunState.DONE.value}


def carry_out_one(
    settings: Settings, engine: Engine, kind: str, parameters: dict[str, Any]
) -> dict[str, Any]:
    """Execute a new or waiting run of a kind that allows only one run at a time.

    Returns:
        As in `carry_out`.

    Raises:
        RunEnded: as in `carry_out`.
        HedgerowError: another process is executing a run of this kind.
    """
    with writing(engine) as session:
        author = asked_by(session, settings)
        run = ensure_run(session, kind=kind, parameters=parameters, requested_by=author).run
    if run.state == RunState.RUNNING:
        raise HedgerowError(
            f"Run {run.id} ({kind_of(kind).title}) is running in process {run.pid} on {run.host}. "
            f"Wait for it, or cancel it with 'hedgerow runs cancel {run.id}'."
        )
    return carry_out(settings, engine, run.id)


def located(settings: Settings, result: dict[str, Any]) -> dict[str, Any]:
    """The result of a run, with absolute paths."""
    paths = {key: str(settings.data_folder / result[key]) for key in PATHS if result.get(key)}
    return result | paths


def figures_so_far(session: Session, run: Run) -> dict[str, Any]:
    """The counts and cost of a run's calls so far, and the last value of each metric.

    ``removed`` counts answers with something besides what was asked for, by kind.
    """
    found: dict[str, Any] = {}
    if run.kind in (GENERATE, JUDGE):
        counts, (so_far, _, removed) = count_calls(session, run.id), progress(session, run.id)
        found |= {
            "done": counts[CallState.DONE],
            "failed": counts[CallState.FAILED],
            "open": counts[CallState.OPEN],
            "calls": so_far.attempts,
            "cost": round(so_far.cost, 6),
            "cost_is_estimate": so_far.is_estimate,
            "removed": removed,
        }
    return found | last_metrics(session, run.id)


@contextmanager
def _following(engine: Engine, run_id: int, report: Report) -> Iterator[None]:
    """Report the progress that a run in this process stores.

    If no progress bar is visible, report on standard error when the run waits for other runs.
    """
    ended, notify = threading.Event(), report if is_watched() else _waiting_reported()

    def follow() -> None:
        while not ended.wait(FOLLOW_SECONDS):
            with suppress(HedgerowError), reading(engine) as session:  # a busy database
                run = get_run(session, run_id)
                notify(run.step, run.total, run.message)

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()


def _waiting_reported() -> Report:
    """Report each time a run starts to wait for other runs."""
    last = ""

    def report(step: int, total: int, message: str) -> None:
        nonlocal last
        if WAITING in message and message != last:
            err.print(text_of(message), soft_wrap=True)
        last = message

    return report
