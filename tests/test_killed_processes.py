"""Processes that are killed while reviewers decide: no confirmed decision is lost or incomplete."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.project.opening import open_project
from curation.upkeep.checking import check_project
from db.engine import reading, writing
from db.models import Decision
from db.settings import load_settings
from tests.support.checkout import ROOT
from tests.support.databases import both_databases
from tests.support.factories import add_family

REVIEWERS = 3
"""Reviewers in each process."""


@pytest.fixture
def project(kills: int, engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Enough families for all decisions here. The processes find them by the settings."""
    address = engine.url.render_as_string(hide_password=False)
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", address)
    open_project(load_settings()).dispose()
    with writing(engine) as session:
        for number in range(150 * kills):
            add_family(session, f"The bridge number {number} is safe.")
    return engine


class Process:
    """A process with the reviewers of one server."""

    def __init__(self, folder: Path) -> None:
        """Start it. Its confirmations go to a file, which outlives it."""
        self.said = folder / f"{time.monotonic_ns()}.txt"
        with self.said.open("wb") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.deciding_process", str(REVIEWERS)],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdout=file,
                stderr=subprocess.PIPE,
            )

    def kill(self) -> None:
        """Stop it with a signal that it can't handle."""
        self._process.send_signal(signal.SIGKILL)
        _, complained = self._process.communicate()
        assert self._process.returncode == -signal.SIGKILL, complained.decode()
        assert not complained, complained.decode()

    def confirmed(self) -> set[str]:
        """The action ids of the confirmed decisions."""
        lines = self.said.read_text("utf-8").splitlines(keepends=True)
        return {line.strip() for line in lines if line.endswith("\n")}

    def wait_until_at_work(self) -> None:
        """Wait until it has confirmed some decisions."""
        deadline = time.monotonic() + 60
        while len(self.confirmed()) < 5:
            assert self._process.poll() is None, "it ended by itself"
            assert time.monotonic() < deadline, "it confirms nothing"
            time.sleep(0.02)


@contextmanager
def at_work(folder: Path) -> Iterator[list[Process]]:
    """Two processes that decide on the same queue, like two servers of one project."""
    processes = [Process(folder), Process(folder)]
    try:
        yield processes
    finally:
        for process in processes:
            process._process.kill()
            process._process.wait()


@both_databases
@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=pytest.mark.soak("kills"))])
def test_kills_under_load_lose_no_confirmed_decision_and_leave_nothing_contradictory(
    kills: int, project: Engine, tmp_path: Path
) -> None:
    chance = random.Random(1)
    confirmed: set[str] = set()
    with at_work(tmp_path) as processes:
        for number in range(kills):
            victim = processes[number % 2]
            for process in processes:
                process.wait_until_at_work()
            time.sleep(chance.uniform(0, 0.5))
            victim.kill()
            confirmed |= victim.confirmed()
            result = check_project(project, load_settings(), report=lambda *_: None)
            assert result.is_clean, [each.sentence() for each in result.findings]
            assert confirmed <= stored(project)
            processes[number % 2] = Process(tmp_path)
        for process in processes:
            process.wait_until_at_work()  # the killed ones' cards block nobody
    with_all = confirmed | {action for process in processes for action in process.confirmed()}
    assert with_all <= stored(project)
    sys.stdout.write(f"{len(with_all)} confirmed, {len(stored(project))} stored\n")


def stored(engine: Engine) -> set[str]:
    """The action ids of all decisions."""
    with reading(engine) as session:
        return set(session.execute(select(col(Decision.action_id))).scalars())
