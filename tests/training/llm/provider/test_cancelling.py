"""Cancelling and pausing a finetuning run and its job at the provider."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from db.engine import writing
from db.errors import HedgerowError
from db.models import RunState
from db.runs import request_cancel, request_pause
from db.settings import Settings
from tests.support.generating import serve_chat as serve_chat
from tests.support.servers.chat_server import ChatServer
from tests.support.servers.finetuning_server import STEPS
from tests.training.llm.provider.support.jobs import (
    Served,
    carried_out,
    requested,
    settings_of,
    status,
    stored,
)
from training.llm.provider.job_file import NAME
from training.runs.cancelling import cancel_run
from training.runs.removal import delete_run


def stopped(
    engine: Engine, settings: Settings, server: ChatServer, stop: Callable[[Any, int], Any]
) -> int:
    """Start a run, and stop it while its job is in progress. Returns its number."""
    server.finetuning.stuck = True
    run_id = requested(engine, settings)

    def when_running() -> None:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            if any(job["status"] == "running" for job in server.finetuning.jobs.values()):
                with writing(engine) as session:
                    stop(session, run_id)
                return
            time.sleep(0.01)

    thread = threading.Thread(target=when_running)
    thread.start()
    with pytest.raises(HedgerowError):
        carried_out(engine, settings, run_id)
    thread.join()
    return run_id


def test_cancelling_a_run_cancels_its_job(released: Engine, home: Path, served: Served) -> None:
    address, server = served
    settings = settings_of(home, address)
    run_id = stopped(released, settings, server, request_cancel)
    assert stored(released, run_id).state is RunState.CANCELLED
    assert status(server) == "cancelled"
    with pytest.raises(HedgerowError, match="was cancelled; start another"):
        carried_out(released, settings, run_id)
    assert len(server.finetuning.jobs) == 1


def test_a_paused_run_lets_its_job_continue_and_finds_it_again(
    released: Engine, home: Path, served: Served
) -> None:
    address, server = served
    settings = settings_of(home, address)
    run_id = stopped(released, settings, server, request_pause)
    assert stored(released, run_id).state is RunState.PAUSED and status(server) == "running"
    server.finetuning.stuck = False
    assert carried_out(released, settings, run_id)["steps"] == STEPS
    assert len(server.finetuning.jobs) == 1


def test_cancelling_a_paused_run_cancels_its_job_too(
    released: Engine, home: Path, served: Served
) -> None:
    address, server = served
    settings = settings_of(home, address)
    run_id = stopped(released, settings, server, request_pause)
    with pytest.raises(HedgerowError, match=f"first with 'hedgerow runs cancel {run_id}'"):
        delete_run(released, settings, run_id)
    assert cancel_run(released, settings, run_id) is RunState.CANCELLED
    assert status(server) == "cancelled"
    delete_run(released, settings, run_id)


def test_a_job_that_cannot_be_cancelled_is_reported(
    released: Engine, home: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, server = served
    settings = settings_of(home, address)
    run_id = stopped(released, settings, server, request_pause)
    server.away = 503
    with pytest.raises(HedgerowError, match="Job ftjob-.* may still be running at the provider"):
        cancel_run(released, settings, run_id)
    assert stored(released, run_id).state is RunState.CANCELLED and status(server) == "running"


def test_a_run_that_started_no_job_is_cancelled_without_a_provider(
    released: Engine, home: Path
) -> None:
    settings = settings_of(home, "http://127.0.0.1:9/v1")
    assert cancel_run(released, settings, requested(released, settings)) is RunState.CANCELLED


def test_a_damaged_note_of_the_job_is_one_sentence(
    released: Engine, home: Path, served: Served
) -> None:
    settings = settings_of(home, served[0])
    run_id = requested(released, settings)
    folder = settings.data_folder / stored(released, run_id).folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text("{")
    with pytest.raises(HedgerowError, match="the job that this run started"):
        carried_out(released, settings, run_id)
