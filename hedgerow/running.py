"""Carrying out a stored run in this process, its progress shown."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Engine

from db.engine import reading
from db.errors import HedgerowError
from db.execution import execute
from db.models import RunState
from db.runs import get_run
from db.settings import Settings
from hedgerow.progress import Report, is_watched, progress_bar
from training.runs.kinds import WORK

FOLLOW_SECONDS = 0.5

PATHS = ("model", "folder", "zip")
"""Of a result: a path in the data folder, stored relative to it."""


def carry_out(settings: Settings, engine: Engine, run_id: int) -> dict[str, Any]:
    """Carry out a stored run in this process, its progress shown.

    Returns:
        Its number, its state and its result, with absolute paths.

    Raises:
        RunEnded: it ended before its work was done.
    """
    with progress_bar() as report, _following(engine, run_id, report):
        result = execute(engine, settings, run_id, WORK)
    return located(settings, result) | {"run": run_id, "state": RunState.DONE.value}


def located(settings: Settings, result: dict[str, Any]) -> dict[str, Any]:
    """A run's result with paths that open from anywhere."""
    paths = {key: str(settings.data_folder / result[key]) for key in PATHS if result.get(key)}
    return result | paths


@contextmanager
def _following(engine: Engine, run_id: int, report: Report) -> Iterator[None]:
    """Report what a run that works in this process writes into its row."""
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(FOLLOW_SECONDS):
            with suppress(HedgerowError), reading(engine) as session:  # a busy database
                run = get_run(session, run_id)
                report(run.step, run.total, run.message)

    follower = threading.Thread(target=follow, daemon=True)
    if is_watched():
        follower.start()
    try:
        yield
    finally:
        ended.set()
        if follower.is_alive():
            follower.join()
