"""A run's row from queued to its end, whoever works on it and however it ends."""

import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, update
from sqlmodel import Session, col

from db import execution, run_process
from db.columns import now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext, execute
from db.models import Run, RunState
from db.run_process import last_log_lines, log_file
from db.runs import (
    claim,
    create_run,
    ensure_run,
    get_runs,
    list_runs,
    metrics,
    refuse_a_second,
    request_cancel,
)
from db.settings import Settings, load_settings
from tests.support.databases import both_databases, stored_run

pytestmark = both_databases


@pytest.fixture
def settings() -> Settings:
    return load_settings()


def queued(engine: Engine, kind: str = "count", **parameters: object) -> int:
    with writing(engine) as session:
        return create_run(session, kind=kind, parameters=parameters).id


def test_a_run_is_done_with_progress_metrics_and_result(engine: Engine, settings: Settings) -> None:
    def work(context: RunContext) -> dict[str, object]:
        for step in range(1, 4):
            context.update(step, context.parameters["to"], "Counting.")
            context.metric(step, "loss", 1 / step)
        return {"counted": 3}

    run_id = queued(engine, to=3)
    assert execute(engine, settings, run_id, {"count": work}) == {"counted": 3}
    run = stored_run(engine, run_id)
    assert (run.state, run.step, run.total) == (RunState.DONE, 3, 3)
    assert run.result == {"counted": 3}
    assert run.finished_at is not None and run.host and run.pid
    with reading(engine) as session:
        assert metrics(session, run_id, name="loss") == [(1, 1.0), (2, 0.5), (3, 1 / 3)]


def test_a_late_heartbeat_does_not_write_over_the_end(engine: Engine, settings: Settings) -> None:
    kept: list[RunContext] = []

    def work(context: RunContext) -> dict[str, object]:
        kept.append(context)
        return {}

    run_id = queued(engine)
    execute(engine, settings, run_id, {"count": work})
    kept[0].update(1, 2, "Still counting.")
    kept[0].beat()
    run = stored_run(engine, run_id)
    assert (run.message, run.step) == ("Done.", 0)
    assert run.heartbeat_at == run.finished_at


def test_a_failure_says_why_and_keeps_the_log(engine: Engine, settings: Settings) -> None:
    def work(context: RunContext) -> dict[str, object]:
        logging.getLogger("test").info("about to fail")
        raise ValueError("the disk sang")

    run_id = queued(engine)
    with pytest.raises(HedgerowError, match="the disk sang"):
        execute(engine, settings, run_id, {"count": work})
    run = stored_run(engine, run_id)
    assert run.state == RunState.FAILED
    assert run.message == "ValueError: the disk sang"
    assert "about to fail" in log_file(settings, run).read_text()
    assert any("the disk sang" in line for line in last_log_lines(settings, run))


def cancel(session: Session, run_id: int) -> None:
    assert request_cancel(session, run_id) == RunState.RUNNING


def take(session: Session, run_id: int) -> None:
    """As another process takes a run over."""
    taken = {"attempt": 7, "pid": 99, "host": "elsewhere"}
    session.execute(update(Run).where(col(Run.id) == run_id).values(**taken))


@pytest.mark.parametrize(
    ("happens", "message", "after"),
    [
        (cancel, "cancelled", (1, os.getpid(), RunState.CANCELLED)),
        (take, "", (7, 99, RunState.RUNNING)),
    ],
)
def test_a_run_that_is_cancelled_or_lost_to_another_process_stops_within_a_step(
    engine: Engine,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    happens: Callable[[Session, int], None],
    message: str,
    after: tuple[int, int, RunState],
) -> None:
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.05)

    def work(context: RunContext) -> dict[str, object]:
        with writing(engine) as session:
            happens(session, run_id)
        for _ in range(200):
            context.check()
            time.sleep(0.05)
        return {}

    run_id = queued(engine)
    with pytest.raises(HedgerowError, match=message):
        execute(engine, settings, run_id, {"count": work})
    run = stored_run(engine, run_id)
    assert (run.attempt, run.pid, run.state) == after


def test_a_queued_run_is_cancelled_at_once_and_can_be_taken_up_again(
    engine: Engine, settings: Settings
) -> None:
    run_id = queued(engine)
    with writing(engine) as session:
        assert request_cancel(session, run_id) == RunState.CANCELLED
    assert execute(engine, settings, run_id, {"count": lambda context: {}}) == {}
    assert stored_run(engine, run_id).state == RunState.DONE


def test_a_silent_run_reads_as_interrupted_and_is_resumed(
    engine: Engine, settings: Settings
) -> None:
    run_id = queued(engine)
    claim(engine, run_id, host="gone", pid=1)
    assert stored_run(engine, run_id).state == RunState.RUNNING
    with pytest.raises(HedgerowError, match="in process 1 on gone"):
        claim(engine, run_id, host="here", pid=2)
    with writing(engine) as session:
        past = now() - timedelta(hours=1)
        session.execute(update(Run).where(col(Run.id) == run_id).values(lease_until=past))
    assert stored_run(engine, run_id).state == RunState.INTERRUPTED
    execute(engine, settings, run_id, {"count": lambda context: {"attempt": context.run.attempt}})
    run = stored_run(engine, run_id)
    assert (run.state, run.result) == (RunState.DONE, {"attempt": 2})


def test_a_run_without_a_process_is_resumed_at_once_on_the_same_host(engine: Engine) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    run_id, other = queued(engine), queued(engine)
    here = socket.gethostname()
    claim(engine, run_id, host=here, pid=ended.pid)
    claim(engine, other, host=here, pid=os.getpid())
    assert stored_run(engine, run_id).state == RunState.INTERRUPTED
    assert stored_run(engine, other).state == RunState.RUNNING
    assert claim(engine, run_id, host=here, pid=os.getpid()).attempt == 2
    for taken in (run_id, other):
        with pytest.raises(HedgerowError, match="already running in process"):
            claim(engine, taken, host="elsewhere", pid=2)


def test_a_finished_run_is_not_done_twice(engine: Engine, settings: Settings) -> None:
    run_id = queued(engine)
    execute(engine, settings, run_id, {"count": lambda context: {}})
    with pytest.raises(HedgerowError, match="has already finished"):
        execute(engine, settings, run_id, {"count": lambda context: {}})


def test_an_unknown_kind_or_number_is_named(engine: Engine, settings: Settings) -> None:
    with pytest.raises(HedgerowError, match="kind 'count'"):
        execute(engine, settings, queued(engine), {})
    with pytest.raises(HedgerowError, match="no run 77"):
        execute(engine, settings, 77, {})


def test_the_newest_runs_come_first(engine: Engine) -> None:
    first, second, other = queued(engine), queued(engine), queued(engine, "other")
    with reading(engine) as session:
        assert [run.id for run in list_runs(session)] == [other, second, first]
        assert [run.id for run in list_runs(session, kind="count", limit=1)] == [second]


class _Ended:
    """A process that has ended with an error."""

    def wait(self) -> int:
        return 1


def test_only_a_process_that_never_began_fails_its_run(engine: Engine, home: Path) -> None:
    run_id = queued(engine)
    own = Settings(home=home, database_url=engine.url.render_as_string(hide_password=False))
    with writing(engine) as session:
        session.execute(update(Run).where(col(Run.id) == run_id).values(attempt=1))
    run_process._wait(own, run_id, 0, _Ended())  # type: ignore[arg-type]
    assert stored_run(engine, run_id).state == RunState.QUEUED, "it waits for another process"
    run_process._wait(own, run_id, 1, _Ended())  # type: ignore[arg-type]
    assert stored_run(engine, run_id).state == RunState.FAILED


def test_a_kind_that_works_alone_waits_for_the_one_in_progress(engine: Engine) -> None:
    first, other = queued(engine), queued(engine, "another kind")
    with writing(engine) as session:
        with pytest.raises(HedgerowError, match=f"Run {first} is already running"):
            refuse_a_second(session, "count")
        request_cancel(session, first)
        refuse_a_second(session, "count")
        assert [run.id for run in get_runs(session, [other, first])] == [other, first]


def test_work_that_catches_up_is_not_asked_for_twice(engine: Engine) -> None:
    with writing(engine) as session:
        first = ensure_run(session, kind="measure", parameters={})
        again = ensure_run(session, kind="measure", parameters={})
        other = ensure_run(session, kind="measure", parameters={"encoder": "another"})
        assert (first.is_new, again.is_new, other.is_new) == (True, False, True)
        assert again.run.id == first.run.id != other.run.id
        request_cancel(session, first.run.id)
        assert ensure_run(session, kind="measure", parameters={}).is_new
