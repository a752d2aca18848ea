"""Bad days: each problem gives one sentence and exit code 1, and changes nothing."""

import contextlib
import functools
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, inspect, text
from sqlalchemy.engine import URL, make_url

from curation.overview.project_settings import open_project
from db import engine as db_engine
from db import migrate
from db.engine import create_engine, reading, writing
from db.errors import HedgerowError
from db.models import Setting
from db.settings import Settings, load_settings
from tests.cli.commands import complaint
from tests.conftest import POSTGRES, missing
from tests.support.databases import both_databases
from tests.support.disks import disk_of

pytestmark = both_databases

COMMANDS = (["status"], ["init", "--empty"])
"""One command that reads, and one that writes."""
APP = ["app", "--port", "3"]
"""A port that no other test uses. Ports 1 and 9 are those of unavailable servers."""


@functools.cache
def _empty_project() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        open_project(Settings(home=Path(folder), database_url="")).dispose()
        return Path(folder, "hedgerow.db").read_bytes()


def project(home: Path) -> Path:
    """A project's database, closed."""
    path = home / "hedgerow.db"
    path.write_bytes(_empty_project())
    return path


def test_an_empty_database_is_not_filled_by_a_command_that_reads(
    url: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files from a mistyped name, or from a damaged disk."""
    if url.database and url.get_backend_name() == "sqlite":
        Path(url.database).touch()
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", url.render_as_string(hide_password=False))
    assert "is empty; replace it with a backup" in complaint("status")
    engine = create_engine(url)
    assert inspect(engine).get_table_names() == []
    engine.dispose()


@pytest.mark.slow
def test_a_disk_without_any_room_is_called_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is not even space for SQLite's journal next to the database: 'disk I/O error'."""
    with disk_of("1m", tmp_path / "disk") as folder:
        path = project(folder)
        with contextlib.suppress(OSError), (folder / "film").open("wb", buffering=0) as film:
            while film.write(b"x" * 4096):
                pass
        monkeypatch.setenv("HEDGEROW_HOME", str(folder))
        before = path.read_bytes()
        assert "The disk is full" in complaint("status")
        assert path.read_bytes() == before


# -- the working directory ---------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("command", [COMMANDS[1], APP])
def test_a_home_that_is_a_file(
    command: list[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = home / "letter.txt"
    letter.write_text("Dear all")
    monkeypatch.setenv("HEDGEROW_HOME", str(letter))
    assert f"The folder {letter} cannot be created (File exists)" in complaint(*command)
    assert letter.read_text() == "Dear all"


def test_a_home_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_HOME", "/proc/hedgerow")  # not even for root
    assert "The folder /proc/hedgerow cannot be created" in complaint("init")


@pytest.fixture
def unwritable(home: Path) -> Iterator[Path]:
    """A project folder that nobody can write to, not even root."""
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


@pytest.mark.slow
@pytest.mark.parametrize("command", [*COMMANDS, APP])
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
    assert "The current directory no longer exists" in complaint("status")


@pytest.mark.slow
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
    for command in (*COMMANDS, APP) if content.startswith(b"HEDGEROW_REVIEWER=Ada") else COMMANDS:
        message = complaint(*command)
        assert sentence in message
        assert "sk-secret" not in message


# -- the database ------------------------------------------------------------------------


def damage(path: Path, *, keep: int) -> None:
    """Overwrite all but the first ``keep`` bytes."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(keep)
        file.write(b"\xa5" * (size - keep))


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("keep", [0, 100, 4096])
def test_a_damaged_database(command: list[str], keep: int, home: Path) -> None:
    path = project(home)
    damage(path, keep=keep)
    before = path.read_bytes()
    message = complaint(*command)
    assert "is damaged" in message or "cannot be read as a database" in message
    assert path.read_bytes() == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_truncated_database(command: list[str], home: Path) -> None:
    path = project(home)
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)
    message = complaint(*command)
    assert "is damaged" in message or "cannot be read as a database" in message


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
    assert "tables of another program" in complaint(*command)
    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert tables == [("recipes",)]


@pytest.mark.parametrize("command", [*COMMANDS, APP])
def test_a_newer_schema(command: list[str], home: Path) -> None:
    path = project(home)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    assert "written by a newer version of Hedgerow (schema 9999" in complaint(*command)
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
        connection.execute("PRAGMA max_page_count=1")  # no larger than before

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


@pytest.mark.slow
def test_a_database_that_is_taken_away_while_it_is_open(home: Path) -> None:
    engine = open_project(load_settings())
    (home / "hedgerow.db").rename(home / "elsewhere.db")
    for _ in range(2):
        with pytest.raises(HedgerowError, match="no longer exists"), writing(engine) as session:
            session.merge(Setting(key="x", value=1))
    assert not (home / "hedgerow.db").exists()
    (home / "elsewhere.db").rename(home / "hedgerow.db")
    with writing(engine) as session:
        session.merge(Setting(key="x", value=1))
    engine.dispose()


@pytest.mark.slow
def test_a_database_that_is_replaced_while_it_is_open(home: Path) -> None:
    engine = open_project(load_settings())
    with writing(engine) as session:
        session.merge(Setting(key="x", value="old"))
    (home / "kept").mkdir()
    for file in home.glob("hedgerow.db*"):  # as in docs/troubleshooting.md: with its log
        shutil.move(file, home / "kept")
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
    message = complaint(*command)
    assert sentence in message
    assert "sk-secret" not in message


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
    message = complaint("status")
    assert "refuses the connection" in message
    assert "sk-secret" not in message


@pytest.mark.databases("postgresql")
def test_a_connection_that_is_lost_in_the_middle(engine: Engine) -> None:
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
    with reading(engine) as session:  # the pool reconnects
        assert session.get(Setting, "x") is None
