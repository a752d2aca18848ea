"""A backup restores the whole project. If something is not a backup or is in the way, nothing
changes."""

import itertools
import json
import sqlite3
import threading
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, select, text
from sqlalchemy.engine import URL
from sqlmodel import col

from curation.project.opening import open_project
from curation.upkeep.backup_file import DATABASE, MANIFEST, make_backup
from curation.upkeep.checking import check_project
from curation.upkeep.content import content_hash, hash_tables
from curation.upkeep.restoring import restore_backup
from db import migrate
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Lease, Run, RunState
from db.runs import create_run
from db.settings import Settings, load_settings
from tests.curation.support.deciding import accept
from tests.support.databases import both_databases, opened, sqlite
from tests.support.factories import add_family, person

pytestmark = both_databases


def quiet(*_: object) -> None:
    """Ignores the progress."""


def hash_of(engine: Engine) -> str:
    with reading(engine) as session:
        return content_hash(hash_tables(session.connection(), quiet))


@pytest.fixture
def project(engine: Engine, home: Path) -> Engine:
    """A few decisions, and a run's files."""
    with writing(engine) as session:
        for variant in add_family(session).values():
            accept(session, variant, person(session))
        run = create_run(session, kind="train", parameters={})
        run.state = RunState.DONE
    model = home / "hedgerow_data" / run.folder / "model"
    model.mkdir(parents=True)
    (model / "model.safetensors").write_bytes(bytes(range(256)) * 100)
    (home / "hedgerow_data" / run.folder / "log.txt").write_text("done\n")
    (model / ".draft.part").write_text("half")
    return engine


@pytest.fixture
def backup(project: Engine, tmp_path: Path) -> Path:
    path = tmp_path / "backup.zip"
    made = make_backup(project, load_settings(), path, report=quiet)
    assert (made.path, made.size, made.files) == (path, path.stat().st_size, 2)
    return path


@pytest.fixture
def empty(url: URL, tmp_path: Path) -> Settings:
    """Another working directory, with an empty database of the same kind."""
    address = "" if url.get_backend_name() == "sqlite" else url
    place = address and address.render_as_string(hide_password=False)
    return load_settings(home=tmp_path / "other", database_url=place)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_backup_brings_the_project_back(project: Engine, backup: Path, empty: Settings) -> None:
    restored = restore_backup(empty, backup, report=quiet)
    assert (restored.schema, restored.files) == (migrate.head_revision(), 2)
    kept = files(load_settings().data_folder)
    assert files(empty.data_folder) == {
        name: content for name, content in kept.items() if not name.endswith(".part")
    }
    with opened(empty.url) as same:
        assert hash_of(same) == hash_of(project)
    open_project(empty, create=False).dispose()
    assert not list(empty.home.glob(".hedgerow*"))


def test_artifacts_can_be_left_out(project: Engine, tmp_path: Path, empty: Settings) -> None:
    path = tmp_path / "small.zip"
    made = make_backup(project, load_settings(), path, artifacts=False, report=quiet)
    assert made.files is None
    assert zipfile.ZipFile(path).namelist() == [MANIFEST, DATABASE]
    assert restore_backup(empty, path, report=quiet).files == 0
    assert not empty.data_folder.exists()


def test_embeddings_stay_out_of_a_backup(project: Engine, tmp_path: Path) -> None:
    folder = load_settings().data_folder / "embeddings"
    folder.mkdir()
    (folder / "0123456789abcdef-384.bin").write_bytes(b"computed again by a run")
    path = tmp_path / "whole.zip"
    make_backup(project, load_settings(), path, artifacts=True, report=quiet)
    assert not [name for name in zipfile.ZipFile(path).namelist() if "embeddings" in name]


def test_no_run_of_a_restored_project_is_in_progress(
    project: Engine, tmp_path: Path, empty: Settings
) -> None:
    with writing(project) as session:
        create_run(session, kind="backup", parameters={}).state = RunState.RUNNING
    make_backup(project, load_settings(), tmp_path / "b.zip", report=quiet)
    restore_backup(empty, tmp_path / "b.zip", report=quiet)
    with opened(empty.url) as engine, reading(engine) as session:
        states = session.execute(select(col(Run.state)).order_by(col(Run.id))).scalars().all()
        assert states == [RunState.DONE, RunState.INTERRUPTED]
        assert session.execute(select(Lease)).first() is None


def test_a_backup_is_of_one_moment_while_others_write(
    project: Engine, tmp_path: Path, empty: Settings
) -> None:
    stop = threading.Event()

    def write() -> None:
        for number in itertools.count():
            with writing(project) as session:
                variants = add_family(session, f"The bridge number {number} is safe.").values()
                for variant in variants:
                    accept(session, variant, person(session))
            if stop.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        make_backup(project, load_settings(), tmp_path / "b.zip", report=quiet)
    finally:
        stop.set()
        writer.join()
    restore_backup(empty, tmp_path / "b.zip", report=quiet)
    with opened(empty.url) as engine:
        assert check_project(engine, empty, report=quiet).is_clean


def test_a_restore_never_overwrites(project: Engine, backup: Path, empty: Settings) -> None:
    restore_backup(empty, backup, report=quiet)
    with opened(empty.url) as engine:
        before = hash_of(engine), files(empty.data_folder)
        with pytest.raises(HedgerowError, match="Expected an empty database"):
            restore_backup(empty, backup, report=quiet)
        assert (hash_of(engine), files(empty.data_folder)) == before


def test_a_folder_with_artifacts_is_not_restored_into(backup: Path, empty: Settings) -> None:
    empty.data_folder.mkdir(parents=True)
    (empty.data_folder / "mine.txt").write_text("mine")
    with pytest.raises(HedgerowError, match="already contains models, exports or logs"):
        restore_backup(empty, backup, report=quiet)
    assert files(empty.home) == {"hedgerow_data/mine.txt": b"mine"}


def test_a_backup_replaces_no_file_and_is_outside_the_data_folder(
    project: Engine, backup: Path
) -> None:
    before = backup.read_bytes()
    settings = load_settings()
    with pytest.raises(HedgerowError, match="The file .* already exists"):
        make_backup(project, settings, backup, report=quiet)
    with pytest.raises(HedgerowError, match="would become part of the next backup"):
        make_backup(project, settings, settings.data_folder / "b.zip", report=quiet)
    with pytest.raises(HedgerowError, match="There is no folder"):
        make_backup(project, settings, backup.parent / "none" / "b.zip", report=quiet)
    assert backup.read_bytes() == before


def test_a_backup_that_breaks_off_leaves_no_file(project: Engine, tmp_path: Path) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(HedgerowError, match="No space left on device"):
        make_backup(project, load_settings(), tmp_path / "b.zip", report=full)
    assert not [path for path in tmp_path.iterdir() if path.is_file() or path.name[0] == "."]


def rewritten(path: Path, change: Callable[[str, bytes], bytes]) -> None:
    """Change the files in a backup."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, change(name, content))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-500])


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def other_zip(path: Path) -> None:
    rewritten(path, lambda name, content: b"{}" if name == MANIFEST else content)


def no_database(path: Path) -> None:
    rewritten(path, lambda name, content: b"nothing" if name == DATABASE else content)


def broken_database(path: Path) -> None:
    rewritten(path, lambda name, content: content[:40_000] if name == DATABASE else content)


def leading_out(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("hedgerow_data/../../evil.txt", "evil")


def text_file(path: Path) -> None:
    path.write_text("nothing")


@pytest.mark.parametrize(
    "damage",
    [cut, flipped, other_zip, no_database, broken_database, leading_out, text_file, Path.unlink],
)
def test_an_incomplete_backup_changes_nothing(
    damage: Callable[[Path], None], backup: Path, empty: Settings
) -> None:
    damage(backup)
    with pytest.raises(HedgerowError, match="damaged|no backup|no file"):
        restore_backup(empty, backup, report=quiet)
    assert not files(empty.home)
    assert not (backup.parent.parent / "evil.txt").exists()


def test_an_older_backup_is_upgraded_and_a_newer_one_refused(
    tmp_path: Path, empty: Settings
) -> None:
    old = tmp_path / "old.db"
    upgrade_to(old, "0010")
    newer = tmp_path / "newer.db"
    upgrade_to(newer, "head")
    with opened(sqlite(newer)) as engine, writing(engine) as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(HedgerowError, match="newer version of Hedgerow"):
        restore_backup(empty, newer, report=quiet)
    assert not files(empty.home)
    assert restore_backup(empty, old, report=quiet).schema == "0010"
    with opened(empty.url) as engine:
        assert migrate.current_revision(engine) == migrate.head_revision()


def upgrade_to(path: Path, revision: str) -> None:
    """Make a database with this schema."""
    config = Config()
    config.set_main_option("script_location", str(migrate.SCRIPTS))
    with opened(sqlite(path)) as engine, engine.execution_options(writes=True).begin() as opened_:
        config.attributes["connection"] = opened_
        command.upgrade(config, revision)


def test_another_programs_database_is_not_a_backup(tmp_path: Path, empty: Settings) -> None:
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (id INTEGER)")
    with pytest.raises(HedgerowError, match="not from Hedgerow"):
        restore_backup(empty, path, report=quiet)
    assert not files(empty.home)


def test_the_manifest_says_what_made_it(backup: Path) -> None:
    with zipfile.ZipFile(backup) as archive:
        manifest = json.loads(archive.read(MANIFEST))
    assert manifest["schema"] == migrate.head_revision()
    assert manifest["artifacts"] is True
