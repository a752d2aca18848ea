"""Bad days: each gives one sentence and exit code 1, and changes nothing."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import URL, make_url
from typer.testing import CliRunner

import cli
from cli import browser
from curation import diagnostics, export, review
from curation.project import active_encoder_id, open_project
from curation.release import create_release
from db import engine as db_engine
from db import migrate
from db.engine import create_engine, reading, writing
from db.errors import HedgerowError
from db.execution import RunContext, execute
from db.models import Run, RunState, Setting, Source
from db.runs import claim, create_run, get_run, list_runs, start_process
from db.settings import Settings, load_settings
from tests.conftest import POSTGRES, missing
from tests.factories import add_family, person

COMMANDS = (["status"], ["init", "--empty"], ["app", "--port", "1"])
"""One that reads, one that writes, and the start of the app."""


def complaint(*arguments: str) -> str:
    """The one sentence of a command that fails."""
    result = CliRunner().invoke(cli.app, [*arguments])
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].endswith(".")
    return lines[0]


def project(home: Path) -> Path:
    """A project's database, closed."""
    open_project(Settings(home=home, database_url="")).dispose()
    return home / "hedgerow.db"


# -- the working directory ---------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS[1:])
def test_a_home_that_is_a_file(
    command: list[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = home / "letter.txt"
    letter.write_text("Dear all")
    monkeypatch.setenv("HEDGEROW_HOME", str(letter))
    assert f"The folder {letter} cannot be made (File exists)" in complaint(*command)
    assert letter.read_text() == "Dear all"


@pytest.mark.parametrize("command", COMMANDS[1:])
def test_a_home_that_cannot_be_made(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_HOME", "/proc/hedgerow")  # not even for root
    assert "The folder /proc/hedgerow cannot be made" in complaint(*command)


@pytest.fixture
def unwritable(home: Path) -> Iterator[Path]:
    """A folder with a project that nobody can write in, not even root."""
    project(home)
    if os.geteuid() != 0:
        home.chmod(0o500)
        yield home
        home.chmod(0o700)
        return
    mounted = subprocess.run(
        ["mount", "--bind", "-o", "ro", str(home), str(home)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("root without the right to mount")
    subprocess.run(["mount", "-o", "remount,bind,ro", str(home)], check=True)
    yield home
    subprocess.run(["umount", str(home)], check=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_cannot_be_written(command: list[str], unwritable: Path) -> None:
    before = (unwritable / "hedgerow.db").read_bytes()
    assert "cannot be written" in complaint(*command)
    assert (unwritable / "hedgerow.db").read_bytes() == before


def test_a_current_directory_that_is_gone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEDGEROW_HOME")
    gone = home / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "The current directory is gone" in complaint("status")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"HEDGEROW_REVIEWER=Ada\nthis is no setting sk-secret\n", "in line 2 of"),
        (b"HEDGEROW_REVIEWER=\xff\xfe", "it is not UTF-8 text"),
        (b"HEDGEROW_DATABASE_URL=mysql://me:sk-secret@host/x", "found mysql"),
        (b"HEDGEROW_HOME=~nobody-of-this-name/x", "HEDGEROW_HOME is not usable"),
    ],
)
def test_a_file_of_settings_that_cannot_be_used(
    content: bytes, sentence: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEDGEROW_HOME")
    (home / ".env").write_bytes(content)
    for command in COMMANDS:
        said = complaint(*command)
        assert sentence in said
        assert "sk-secret" not in said


# -- the database ------------------------------------------------------------------------


def damage(path: Path, *, keep: int) -> None:
    """Overwrite all but the first ``keep`` bytes."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(keep)
        file.write(b"\xa5" * (size - keep))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("keep", [0, 100, 4096])
def test_a_damaged_database(command: list[str], keep: int, home: Path) -> None:
    path = project(home)
    damage(path, keep=keep)
    before = path.read_bytes()
    said = complaint(*command)
    assert "is damaged" in said or "cannot be read as a database" in said
    assert path.read_bytes() == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_truncated_database(command: list[str], home: Path) -> None:
    path = project(home)
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)
    said = complaint(*command)
    assert "is damaged" in said or "cannot be read as a database" in said


def test_damage_that_shows_only_in_the_middle_of_work(home: Path) -> None:
    path = project(home)
    with sqlite3.connect(path) as connection:
        root = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'encoder'"
        ).fetchone()[0]
    connection.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xa5" * 4096)
    assert "is damaged (database disk image is malformed)" in complaint("status")


@pytest.mark.parametrize("command", COMMANDS)
def test_another_programs_database(command: list[str], home: Path) -> None:
    path = home / "hedgerow.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    assert "another program's tables" in complaint(*command)
    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert tables == [("recipes",)]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_newer_schema(command: list[str], home: Path) -> None:
    path = project(home)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    assert "written by a newer Hedgerow (schema 9999" in complaint(*command)
    assert list(home.glob("*.bak")) == []


@pytest.mark.parametrize("command", [["status"], ["init"]])
def test_a_database_that_another_process_keeps_busy(
    command: list[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db_engine, "BUSY_TIMEOUT_MS", 50)
    with sqlite3.connect(project(home), isolation_level=None) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("CREATE TABLE x (y)")
        assert "The database was busy" in complaint(*command)
        other.execute("ROLLBACK")
    other.close()


def test_a_full_disk(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project(home)
    prepare = db_engine._prepare_sqlite

    def small(connection: sqlite3.Connection, record: object) -> None:
        prepare(connection, record)  # type: ignore[arg-type]
        connection.execute("PRAGMA max_page_count=1")  # no larger than it is

    monkeypatch.setattr(db_engine, "_prepare_sqlite", small)
    assert "The disk is full" in complaint("init")
    monkeypatch.undo()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM anchor").fetchone() == (0,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_no_room_for_the_copy_before_an_upgrade(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project(home)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    connection.close()
    monkeypatch.setattr(migrate, "_free_name", lambda source: Path("/proc/copy.bak"))
    assert "could not be copied before its upgrade" in complaint("status")


def test_no_copy_replaces_an_earlier_one_whatever_the_clock_says(home: Path) -> None:
    path = home / "hedgerow.db"
    names = []
    for _ in range(3):
        names.append(migrate._free_name(path))
        names[-1].touch()
    assert len(set(names)) == 3


def test_a_database_that_is_taken_away_while_it_is_open(home: Path) -> None:
    engine = open_project(load_settings())
    (home / "hedgerow.db").rename(home / "elsewhere.db")
    for _ in range(2):
        with pytest.raises(HedgerowError, match="no longer there"), writing(engine) as session:
            session.merge(Setting(key="x", value=1))
    assert not (home / "hedgerow.db").exists()
    (home / "elsewhere.db").rename(home / "hedgerow.db")
    with writing(engine) as session:
        session.merge(Setting(key="x", value=1))
    engine.dispose()


def test_a_database_that_is_replaced_while_it_is_open(home: Path) -> None:
    engine = open_project(load_settings())
    with writing(engine) as session:
        session.merge(Setting(key="x", value="old"))
    (home / "kept").mkdir()
    shutil.move(home / "hedgerow.db", home / "kept")
    project(home)
    with reading(engine) as session:
        assert session.get(Setting, "x") is None
    engine.dispose()


# -- PostgreSQL --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("postgresql://ada:sk-secret@127.0.0.1:1/x", "cannot be reached"),
        ("postgresql://127.0.0.1:1/x?password=sk-secret", "cannot be reached"),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_server_that_is_away(
    command: list[str], url: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", url)
    said = complaint(*command)
    assert sentence in said
    assert "sk-secret" not in said


def server() -> URL:
    if not POSTGRES:
        missing("a PostgreSQL server (HEDGEROW_TEST_POSTGRES_URL)")
    return make_url(POSTGRES)


@pytest.mark.postgres
@pytest.mark.parametrize(
    "change", [{"username": "nobody-of-this-name", "password": "sk-secret"}, {"database": "none"}]
)
def test_a_server_that_refuses(change: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    url = server().set(**change)  # type: ignore[arg-type]
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", url.render_as_string(hide_password=False))
    said = complaint("status")
    assert "refuses the connection" in said
    assert "sk-secret" not in said


@pytest.mark.postgres
def test_a_connection_that_is_lost_in_the_middle(engine: Engine) -> None:
    if engine.name != "postgresql":
        pytest.skip("SQLite has no server")

    def work() -> None:
        with writing(engine) as session:
            session.merge(Setting(key="x", value=1))
            session.flush()
            own = session.execute(text("SELECT pg_backend_pid()")).scalar_one()
            other = create_engine(engine.url)
            with other.connect() as connection:
                connection.execute(text(f"SELECT pg_terminate_backend({own})"))
            other.dispose()
            session.execute(text("SELECT 1"))

    with pytest.raises(HedgerowError, match="cannot be reached"):
        work()
    with reading(engine) as session:  # the pool finds its way back
        assert session.get(Setting, "x") is None


# -- long work ---------------------------------------------------------------------------


def new_run(engine: Engine, kind: str, **parameters: object) -> Run:
    with writing(engine) as session:
        return create_run(session, kind=kind, parameters=parameters)


def state(engine: Engine, run: Run) -> tuple[RunState, str]:
    with reading(engine) as session:
        found = get_run(session, run.id or 0)
        return found.state, found.message


@pytest.fixture
def project_engine(home: Path) -> Iterator[Engine]:
    engine = open_project(load_settings())
    yield engine
    engine.dispose()


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
        RunState.FAILED, "Its process ended at once (exit code 3); the log says why.",
    )  # fmt: skip


def test_a_run_whose_folder_is_deleted_meanwhile_says_so(
    project_engine: Engine, home: Path
) -> None:
    def work(context: RunContext) -> dict[str, object]:
        shutil.rmtree(home / "hedgerow_data")
        (context.folder / "model").mkdir()
        return {}

    run = new_run(project_engine, "diagnose")
    with pytest.raises(HedgerowError, match="No such file or directory"):
        execute(project_engine, load_settings(), run.id or 0, {"diagnose": work})
    found, message = state(project_engine, run)
    assert found == RunState.FAILED
    assert message.startswith("No such file or directory: ") and message.endswith("model.")


def test_a_data_folder_that_cannot_be_written_leaves_the_run_waiting(
    project_engine: Engine, home: Path
) -> None:
    (home / "hedgerow_data").write_text("a file in its place")
    run = new_run(project_engine, "export")
    said = complaint("run", str(run.id))
    assert "hedgerow_data" in said and "cannot be made" in said
    assert state(project_engine, run)[0] == RunState.QUEUED


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for a few kilobytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = os.geteuid() == 0 and not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)],
        capture_output=True, check=False,
    ).returncode  # fmt: skip
    if not mounted:
        pytest.skip("needs the right to mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("form", ["jsonl", "pairs", "hf"])
def test_an_export_on_a_full_disk_leaves_nothing_half_written(
    form: str, project_engine: Engine, small_disk: Path
) -> None:
    with writing(project_engine) as session:
        session.add(Source(id=1, name="test"))
        ada = person(session)
        for number in range(30):
            for variant in add_family(session, f"The bridge number {number} is safe.").values():
                review.accept(session, review.shown(variant), reviewer_id=ada)
        create_release(session)
    run = new_run(project_engine, "export", format=form, folder=str(small_disk / "out"))
    with pytest.raises(HedgerowError, match="No space left on device"):
        execute(project_engine, load_settings(), run.id or 0, {"export": export.work})
    found, message = state(project_engine, run)
    assert found == RunState.FAILED
    assert re.search("cannot be written .*No space left on device.*; make room", message)
    assert list(small_disk.iterdir()) == []


def test_a_second_diagnose_says_that_one_is_at_work(project_engine: Engine) -> None:
    run = new_run(project_engine, "diagnose")
    claim(project_engine, run.id or 0, host="elsewhere", pid=7)
    assert "is measuring at present (process 7 on elsewhere)" in complaint("diagnose")
    with reading(project_engine) as session:
        assert len(list_runs(session)) == 1


def test_two_measurings_at_once_do_no_harm(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both may have begun before either saw the other, such as on two hosts."""
    with writing(engine) as session:
        for number in range(12):
            add_family(session, f"The bridge number {number} is safe.")
    monkeypatch.setattr(diagnostics, "CHUNK", 5)
    monkeypatch.setattr(diagnostics, "BLOCK", 9)
    monkeypatch.setattr(diagnostics, "fingerprint", lambda name: "f" * 64)
    together = threading.Barrier(2, timeout=60)

    def load(name: str) -> None:
        together.wait()

    monkeypatch.setattr(diagnostics, "load_encoder", load)
    monkeypatch.setattr(
        diagnostics, "pair_cosines", lambda model, pairs, **more: [0.5 for _ in pairs]
    )
    wrong: list[BaseException] = []

    def measure(run: Run) -> None:
        try:
            execute(engine, load_settings(), run.id or 0, {"diagnose": diagnostics.work})
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
        assert diagnostics.count_without_measures(session) == 0
        assert diagnostics.count_without_cosine(session, active_encoder_id(session)) == 0
        assert {run.state for run in list_runs(session)} == {RunState.DONE}
        hardness = session.execute(text("SELECT min(hardness) FROM variant")).scalar_one()
        assert hardness > 0


def test_the_app_opens_where_nothing_can_be_measured(
    project_engine: Engine, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with writing(project_engine) as session:
        session.add(Source(id=1, name="test"))
        add_family(session)
    (home / "hedgerow_data").write_text("a file in its place")
    assert browser._start_missing_measures(load_settings(), project_engine) is None
    assert "hedgerow_data" in capsys.readouterr().err
    with reading(project_engine) as session:  # nothing is left waiting for a process
        assert [run.state for run in list_runs(session)] == [RunState.CANCELLED]
