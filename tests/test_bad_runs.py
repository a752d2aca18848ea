"""Long work on bad days: dying processes, missing folders, full disks, two runs at once."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, text
from sqlmodel import col

from cli import app_start
from curation.diagnostics import cosines, measuring
from curation.overview.project_settings import open_project
from curation.project.settings import active_encoder_id
from curation.release.export import release_folder
from curation.review import deciding
from curation.upkeep.checking import check_project
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext, execute
from db.models import Decision, Run, RunState, Source
from db.run_process import start_process
from db.runs import claim, create_run, get_run, list_runs
from db.settings import load_settings
from tests.cli.commands import complaint
from tests.support.checkout import ROOT
from tests.support.databases import both_databases
from tests.support.disks import disk_of
from tests.support.dying import small_pieces
from tests.support.factories import add_family, freeze, person


def new_run(engine: Engine, kind: str, **parameters: object) -> Run:
    with writing(engine) as session:
        return create_run(session, kind=kind, parameters=parameters)


def state(engine: Engine, run: Run) -> tuple[RunState, str]:
    with reading(engine) as session:
        found = get_run(session, run.id)
        return found.state, found.message


@pytest.fixture
def project_engine(home: Path) -> Iterator[Engine]:
    engine = open_project(load_settings())
    yield engine
    engine.dispose()


@pytest.mark.slow
def test_a_run_whose_process_dies_at_once_has_failed(
    project_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "hedgerow"
    command.write_text("#!/bin/sh\nexit 3\n")
    command.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    run = new_run(project_engine, "diagnose")
    start_process(load_settings(), run)
    for _ in range(200):
        if state(project_engine, run)[0] == RunState.FAILED:
            break
        time.sleep(0.05)
    assert state(project_engine, run) == (
        RunState.FAILED,
        "The process ended at once (exit code 3); see the log for the reason.",
    )


@pytest.mark.slow
def test_a_process_that_finds_no_database_makes_no_empty_one(
    project_engine: Engine, home: Path
) -> None:
    """An empty file would prevent restoring the real one."""
    project_engine.dispose()
    run = new_run(project_engine, "diagnose")
    (home / "hedgerow.db").rename(home / "away.db")
    start_process(load_settings(), run)
    for _ in range(200):
        waiting = [thread for thread in threading.enumerate() if "_wait" in thread.name]
        if not waiting:
            break
        time.sleep(0.05)
    assert not waiting
    assert not (home / "hedgerow.db").exists()
    (home / "away.db").rename(home / "hedgerow.db")
    assert state(project_engine, run)[0] == RunState.QUEUED


@pytest.mark.slow
def test_a_run_whose_folder_is_deleted_meanwhile_says_so(
    project_engine: Engine, home: Path
) -> None:
    def work(context: RunContext) -> dict[str, object]:
        shutil.rmtree(home / "hedgerow_data")
        (context.folder / "model").mkdir()
        return {}

    run = new_run(project_engine, "diagnose")
    with pytest.raises(HedgerowError, match="No such file or directory"):
        execute(project_engine, load_settings(), run.id, {"diagnose": work})
    found, message = state(project_engine, run)
    assert found == RunState.FAILED
    assert message.startswith("No such file or directory: ") and message.endswith("model.")


@pytest.mark.slow
def test_a_data_folder_that_cannot_be_written_leaves_the_run_waiting(
    project_engine: Engine, home: Path
) -> None:
    (home / "hedgerow_data").write_text("a file in its place")
    run = new_run(project_engine, "export")
    message = complaint("run", str(run.id))
    assert "hedgerow_data" in message and "cannot be created" in message
    assert state(project_engine, run)[0] == RunState.QUEUED


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with space for a few kilobytes."""
    with disk_of("16k", tmp_path / "disk") as folder:
        yield folder


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "pairs", "hf"])
def test_an_export_on_a_full_disk_leaves_nothing_half_written(
    form: str, project_engine: Engine, small_disk: Path
) -> None:
    with writing(project_engine) as session:
        session.add(Source(id=1, name="test"))
        ada = person(session)
        for number in range(30):
            for variant in add_family(session, f"The bridge number {number} is safe.").values():
                deciding.accept(session, deciding.shown(variant), reviewer_id=ada)
        freeze(session)
    run = new_run(project_engine, "export", format=form, folder=str(small_disk / "out"))
    with pytest.raises(HedgerowError, match="No space left on device"):
        execute(project_engine, load_settings(), run.id, {"export": release_folder.work})
    found, message = state(project_engine, run)
    assert found == RunState.FAILED
    assert re.search("cannot be written .*No space left on device.*; free some space", message)
    assert list(small_disk.iterdir()) == []


@pytest.mark.slow
def test_a_second_diagnose_says_that_one_is_in_progress(project_engine: Engine) -> None:
    run = new_run(project_engine, "diagnose")
    claim(project_engine, run.id, host="elsewhere", pid=7)
    assert "is running in process 7 on elsewhere" in complaint("diagnose")
    with reading(project_engine) as session:
        assert len(list_runs(session)) == 1


@pytest.mark.slow
@both_databases
def test_two_measurings_at_once_do_no_harm(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both may have started before either saw the other, such as on two hosts."""
    with writing(engine) as session:
        for number in range(12):
            add_family(session, f"The bridge number {number} is safe.")
    small_pieces(monkeypatch, 5)
    monkeypatch.setattr(cosines, "BLOCK", 9)
    monkeypatch.setattr(measuring, "fingerprint", lambda name: "f" * 64)
    together = threading.Barrier(2, timeout=60)

    def load(name: str) -> None:
        together.wait()

    monkeypatch.setattr(measuring, "load_encoder", load)
    measured = "curation.encoders.embeddings.pair_cosines"
    monkeypatch.setattr(measured, lambda model, pairs, **more: [0.5 for _ in pairs])
    wrong: list[BaseException] = []

    def measure(run: Run) -> None:
        try:
            execute(engine, load_settings(), run.id, {"diagnose": measuring.work})
        except BaseException as error:
            wrong.append(error)

    threads = [
        threading.Thread(target=measure, args=(new_run(engine, "diagnose"),)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    with reading(engine) as session:
        assert measuring.count_without_measures(session) == 0
        assert cosines.count_without_cosine(session, active_encoder_id(session)) == 0
        assert {run.state for run in list_runs(session)} == {RunState.DONE}
        hardness = session.execute(text("SELECT min(hardness) FROM variant")).scalar_one()
        assert hardness > 0


@pytest.mark.slow
def test_the_app_opens_even_if_nothing_can_be_measured(
    project_engine: Engine, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with writing(project_engine) as session:
        session.add(Source(id=1, name="test"))
        add_family(session)
    (home / "hedgerow_data").write_text("a file in its place")
    assert app_start._start_missing_measures(load_settings(), project_engine) is None
    assert "hedgerow_data" in capsys.readouterr().err
    with reading(project_engine) as session:  # nothing is left waiting for a process
        assert [run.state for run in list_runs(session)] == [RunState.CANCELLED]


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
