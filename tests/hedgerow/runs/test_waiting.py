"""A run that waits for other work on the machine says so, even without a progress bar."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from rich.console import Console
from sqlalchemy import Engine

from db.engine import writing
from db.execution import WAITING, RunContext
from db.runs import create_run
from db.settings import load_settings
from hedgerow.runs import progress, running
from hedgerow.runs.running import carry_out


@pytest.fixture
def waits(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of a run that waits, works, and waits again."""
    monkeypatch.setattr(running, "FOLLOW_SECONDS", 0.01)

    def work(context: RunContext) -> dict[str, Any]:
        for message in (WAITING, "Training: step 1 of 2.", f"2 of 2, All types: {WAITING}"):
            for _ in range(3):  # it says so repeatedly
                context.update(0, 0, message)
                context.beat()
                threading.Event().wait(0.1)
        return {}

    monkeypatch.setattr(running, "WORK", {"waits": work})
    with writing(engine) as session:
        return create_run(session, kind="waits", parameters={}).id


def test_each_wait_is_reported_once(
    waits: int, engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert carry_out(load_settings(), engine, waits)["state"] == "done"
    printed = capsys.readouterr()
    assert printed.err == f"{WAITING}\n2 of 2, All types: {WAITING}\n" and printed.out == ""


def test_a_bar_says_it_instead(
    waits: int,
    engine: Engine,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "err", Console(stderr=True, force_jupyter=True))
    monkeypatch.setattr(progress, "_notebook_bar", _silent)
    carry_out(load_settings(), engine, waits)
    assert capsys.readouterr().err == ""


@contextmanager
def _silent() -> Iterator[progress.Report]:
    yield lambda step, total, message: None
