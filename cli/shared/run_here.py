"""Carrying out a stored run in this process, its progress shown."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Engine

from cli.shared.run_facts import figures_so_far, incomplete, located
from cli.shared.terminal import Report, err, progress_bar
from db.engine import reading
from db.errors import HedgerowError, RunEnded, RunIncomplete
from db.execution import execute
from db.models import RunState
from db.runs import get_run
from db.settings import Settings
from training.runs.kinds import WORK

FOLLOW_SECONDS = 0.5


def carry_out_run(settings: Settings, engine: Engine, run_id: int) -> dict[str, Any]:
    """Carry out a stored run in this process, its progress shown.

    Returns:
        Its number, its state and its result, with absolute paths.

    Raises:
        RunEnded: it ended before its work was done; with its figures so far.
        RunIncomplete: it is done, but something that it asked for is missing; with its result.
    """
    try:
        with progress_bar() as report, _following(engine, run_id, report):
            result = execute(engine, settings, run_id, WORK)
    except RunEnded as ended:
        with suppress(HedgerowError), reading(engine) as session:  # a busy database
            run = get_run(session, run_id)
            ended.facts |= {"step": run.step, "total": run.total} | figures_so_far(session, run)
        raise
    facts = located(settings, result) | {"run": run_id, "state": RunState.DONE.value}
    if facts.get("complete", True):
        return facts
    with reading(engine) as session:
        sentence = incomplete(get_run(session, run_id), facts)
    lacking = RunIncomplete(sentence, run=run_id, state=facts["state"], message=sentence)
    lacking.facts |= facts
    raise lacking


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
    if err.is_terminal:
        follower.start()
    try:
        yield
    finally:
        ended.set()
        if follower.is_alive():
            follower.join()
