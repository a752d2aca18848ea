"""Runs in Python: warnings are only in the log, and a bar or a line tells how far they are."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from sqlalchemy import Engine

from curation.encoders.loading import load_encoder
from db.engine import writing
from db.execution import WAITING, RunContext
from db.runs import create_run
from db.settings import load_settings
from hedgerow.runs import progress, running
from hedgerow.runs.quiet import quietly
from hedgerow.runs.running import carry_out
from tests.support.checkpoints import checkpoint


def test_a_warning_is_logged_and_not_shown(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with quietly():
        warnings.warn("too old", FutureWarning, stacklevel=1)
        logging.getLogger("somebody").warning("not heard")
    assert "FutureWarning: too old" in caplog.text and capfd.readouterr().err == ""


def test_afterwards_and_if_they_are_errors_warnings_are_as_they_were() -> None:
    before, handlers = warnings.showwarning, list(logging.getLogger().handlers)
    with pytest.raises(ZeroDivisionError), quietly():
        raise ZeroDivisionError
    assert warnings.showwarning is before and logging.getLogger().handlers == handlers
    warnings.simplefilter("error", FutureWarning)
    with quietly(), pytest.raises(FutureWarning):
        warnings.warn("too old", FutureWarning, stacklevel=1)


@pytest.mark.slow
def test_weights_that_an_encoder_does_not_use_are_logged_and_not_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    tiny = checkpoint("BertForMaskedLM", tmp_path / "tiny")
    capfd.readouterr()
    for _ in range(2):
        caplog.clear()
        load_encoder(str(tiny))
        assert "LOAD REPORT" in caplog.text
    assert capfd.readouterr().err == "" and not logging.getLogger("transformers").propagate


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


class _Display:
    """The output of IPython for a cell."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, data: dict[str, str], **_: object) -> _Display:
        self.shown.append(data["text/plain"])
        return self

    update = display


def test_a_notebook_shows_a_bar_of_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = _Display()
    monkeypatch.setattr(progress, "err", Console(force_jupyter=True))
    monkeypatch.setattr(progress, "import_module", lambda name: cell)
    with progress.progress_bar() as report:
        report(1, 4, "Measuring.")
    assert cell.shown == ["", "━" * 8 + "─" * 22 + "  25% Measuring.", ""]
