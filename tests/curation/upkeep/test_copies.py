"""Backups and copies have the whole content of a project, or there are none."""

import itertools
import json
import os
import sqlite3
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, func, select, text, update
from sqlalchemy.engine import URL
from sqlmodel import col

from curation.anchors.search import SearchKind, find
from curation.decisions.people import merge
from curation.overview.project_settings import open_project
from curation.partial_files import new_partial
from curation.project.settings import DEFAULTS, THRESHOLD, put_setting
from curation.review.gold import practice
from curation.review.gold.items import mark
from curation.upkeep import copying
from curation.upkeep.backup_file import DATABASE, MANIFEST, MadeBackup, make_backup
from curation.upkeep.checking import check_project
from curation.upkeep.content_hash import content_hash, hash_tables
from curation.upkeep.copying import copy_database, copy_project
from curation.upkeep.restoring import restore_backup
from db import migrate
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    Anchor,
    Decision,
    GoldUse,
    Lease,
    Reviewer,
    Run,
    RunState,
    Setting,
    Variant,
    Verdict,
)
from db.runs import create_run
from db.settings import Settings, load_settings
from tests.curation.support.deciding import accept, edit
from tests.support.databases import Fill, both_databases, opened, sqlite
from tests.support.factories import add_anchor, add_family, add_variant, engine_of, person
from tests.support.hostile_project import fill as fill_with_hostile_texts

NUMBERS = {"a": [1e22, 0.1 + 0.2, 1e-7, -0.0, 2**62, 1.0, 3, True, None], "z": {"ß": "\n", "b": {}}}


def quiet(*_: object) -> None:
    """Ignores the progress."""


def hash_of(engine: Engine) -> str:
    with reading(engine) as session:
        return content_hash(hash_tables(session.connection(), quiet))


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


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


def backed_up(engine: Engine, path: Path, **more: Any) -> MadeBackup:
    return make_backup(engine, load_settings(), path, **{"report": quiet} | more)


@pytest.fixture
def backup(project: Engine, tmp_path: Path) -> Path:
    made = backed_up(project, tmp_path / "backup.zip")
    assert (made.path.name, made.size, made.files) == ("backup.zip", made.path.stat().st_size, 2)
    return made.path


@pytest.fixture
def empty(url: URL, tmp_path: Path) -> Settings:
    """Another working directory, with an empty database of the same kind."""
    address = "" if url.get_backend_name() == "sqlite" else url
    place = address and address.render_as_string(hide_password=False)
    return load_settings(home=tmp_path / "other", database_url=place)


@both_databases
def test_a_backup_brings_the_project_back_and_overwrites_nothing(
    project: Engine, backup: Path, empty: Settings
) -> None:
    restored = restore_backup(empty, backup, report=quiet)
    assert (restored.schema, restored.files) == (migrate.head_revision(), 2)
    there = files(load_settings().data_folder)
    expected = {name: content for name, content in there.items() if not name.endswith(".part")}
    assert files(empty.data_folder) == expected
    open_project(empty, create=False).dispose()
    assert not list(empty.home.glob(".hedgerow*"))
    with opened(empty.url) as same:
        assert hash_of(same) == hash_of(project)
        with pytest.raises(HedgerowError, match="empty database"):
            restore_backup(empty, backup, report=quiet)
        assert (hash_of(same), files(empty.data_folder)) == (hash_of(project), expected)
    with zipfile.ZipFile(backup) as archive:
        manifest = json.loads(archive.read(MANIFEST))
    assert (manifest["schema"], manifest["artifacts"]) == (migrate.head_revision(), True)


def test_artifacts_can_be_left_out_and_embeddings_always_are(
    project: Engine, tmp_path: Path, empty: Settings
) -> None:
    folder = load_settings().data_folder / "embeddings"
    folder.mkdir()
    (folder / "0123456789abcdef-384.bin").write_bytes(b"computed again by a run")
    whole = backed_up(project, tmp_path / "whole.zip").path
    assert not [name for name in zipfile.ZipFile(whole).namelist() if "embeddings" in name]
    small = backed_up(project, tmp_path / "small.zip", artifacts=False)
    assert small.files is None and zipfile.ZipFile(small.path).namelist() == [MANIFEST, DATABASE]
    assert restore_backup(empty, small.path, report=quiet).files == 0
    assert not empty.data_folder.exists()


def test_no_run_of_a_restored_project_is_in_progress(
    project: Engine, tmp_path: Path, empty: Settings
) -> None:
    with writing(project) as session:
        create_run(session, kind="backup", parameters={}).state = RunState.RUNNING
    restore_backup(empty, backed_up(project, tmp_path / "b.zip").path, report=quiet)
    with opened(empty.url) as engine, reading(engine) as session:
        states = session.execute(select(col(Run.state)).order_by(col(Run.id))).scalars().all()
        assert states == [RunState.DONE, RunState.INTERRUPTED]
        assert session.execute(select(Lease)).first() is None


@pytest.mark.slow
@both_databases
def test_a_backup_is_of_one_moment_while_others_write(
    project: Engine, tmp_path: Path, empty: Settings
) -> None:
    stop = threading.Event()

    def write() -> None:
        for number in itertools.count():
            with writing(project) as session:
                for variant in add_family(session, f"The bridge {number} is safe.").values():
                    accept(session, variant, person(session))
            if stop.is_set():
                return

    with ThreadPoolExecutor() as other:
        writer = other.submit(write)
        try:
            made = backed_up(project, tmp_path / "b.zip")
        finally:
            stop.set()
        writer.result()
    restore_backup(empty, made.path, report=quiet)
    with opened(empty.url) as engine:
        assert check_project(engine, empty, report=quiet).is_clean


def test_a_folder_with_artifacts_is_not_restored_into(backup: Path, empty: Settings) -> None:
    empty.data_folder.mkdir(parents=True)
    (empty.data_folder / "mine.txt").write_text("mine")
    with pytest.raises(HedgerowError, match="already contains"):
        restore_backup(empty, backup, report=quiet)
    assert files(empty.home) == {"hedgerow_data/mine.txt": b"mine"}


def test_a_backup_replaces_no_file_is_outside_the_data_folder_and_whole(
    project: Engine, backup: Path
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = files(backup.parent)
    for path, more, fact in (
        (backup, {}, "already exists"),
        (load_settings().data_folder / "b.zip", {}, "the next backup"),
        (backup.parent / "none" / "b.zip", {}, "no folder"),
        (backup.parent / "b.zip", {"report": full}, "No space left"),
    ):
        with pytest.raises(HedgerowError, match=fact):
            backed_up(project, path, **more)
    assert files(backup.parent) == before


def rewritten(path: Path, change: Callable[[str, bytes], bytes]) -> None:
    """Change the files in a backup."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, change(name, content))


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def leading_out(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("hedgerow_data/../../evil.txt", "evil")


def of_another_program(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (id INTEGER)")


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-500]),
        flipped,
        lambda path: rewritten(path, lambda name, old: b"{}" if name == MANIFEST else old),
        lambda path: rewritten(path, lambda name, old: b"nothing" if name == DATABASE else old),
        lambda path: rewritten(path, lambda name, old: old[:40_000] if name == DATABASE else old),
        leading_out,
        lambda path: path.write_text("nothing"),
        Path.unlink,
        of_another_program,
    ],
    ids=[
        *("cut", "flipped", "other zip", "no database", "broken database", "leading out"),
        *("text", "gone", "another program's"),
    ],
)
def test_an_incomplete_backup_changes_nothing(
    damage: Callable[[Path], None], backup: Path, empty: Settings
) -> None:
    damage(backup)
    with pytest.raises(HedgerowError, match="damaged|no backup|no file|not from Hedgerow"):
        restore_backup(empty, backup, report=quiet)
    assert not files(empty.home) and not (backup.parent.parent / "evil.txt").exists()


@pytest.mark.slow
@both_databases
def test_an_older_backup_is_upgraded_and_a_newer_one_refused(
    tmp_path: Path, empty: Settings
) -> None:
    old, newer = tmp_path / "old.db", tmp_path / "newer.db"
    config = Config()
    config.set_main_option("script_location", str(migrate.SCRIPTS))
    for path, revision in ((old, "0010"), (newer, "head")):
        with opened(sqlite(path)) as engine, engine.execution_options(writes=True).begin() as into:
            config.attributes["connection"] = into
            command.upgrade(config, revision)
            if path == newer:
                into.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(HedgerowError, match="newer version"):
        restore_backup(empty, newer, report=quiet)
    assert not files(empty.home) and restore_backup(empty, old, report=quiet).schema == "0010"
    with opened(empty.url) as engine:
        assert migrate.current_revision(engine) == migrate.head_revision()


@pytest.fixture
def varied(engine: Engine, fill: Fill) -> Engine:
    """Rows in nearly every table, with all values that two databases could store differently."""
    fill(engine, fill_with_hostile_texts)
    with writing(engine) as session:
        put_setting(session, next(iter(DEFAULTS)), "all-MiniLM-L6-v2")
        session.merge(Setting(key="numbers", value=NUMBERS))
        session.merge(Setting(key="nothing", value=None))
        first, second = person(session, "Ada"), person(session, "Zoë")
        original = add_variant(session, add_anchor(session, "The door is open."))
        accept(session, original, second)
        edit(session, original, first, "The door isn't open.")
        other = add_variant(session, session.get_one(Anchor, original.anchor_id), "word")
        merge(engine_of(session), person=first, into=second)
        lead = person(session, "Lena")
        gold = mark(session, other.uid, Verdict.ACCEPT, reviewer_id=lead, use=GoldUse.TRAINING)
        practice.answer(session, gold, Verdict.REJECT, reviewer_id=second, round=1)
        create_run(session, kind="diagnose", parameters={"x": NUMBERS}).state = RunState.DONE
    return engine


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[URL]:
    """The address of a database without tables."""
    if request.param == "sqlite":
        yield sqlite(tmp_path / "copy.db")
        return
    server = request.getfixturevalue("server")
    url = server.create()
    yield url
    server.drop(url)


@pytest.mark.slow
def test_a_copy_has_the_same_content_and_can_be_continued(
    varied: Engine, target: URL, tmp_path: Path
) -> None:
    before = hash_of(varied)
    with opened(target) as engine:
        copied = copy_database(varied, engine, report=quiet)
        assert copied.content_hash == before == hash_of(engine)
        assert min(copied.rows[name] for name in ("decision", "release_item", "answer", "note")) > 1
        with opened(sqlite(tmp_path / "back.db")) as back:
            copy_database(engine, back, report=quiet)
            assert hash_of(back) == before
        with reading(engine) as session:
            assert session.get_one(Setting, "numbers").value == NUMBERS
            ada = session.execute(select(Reviewer).where(col(Reviewer.name) == "Ada")).scalar_one()
            assert ada.merged_into_id is not None and ada.merged_into_id > ada.id
            assert find(session, "door", SearchKind.ANCHORS, limit=1).hits
        findings = check_project(engine, load_settings(), report=quiet).findings
        open_ = [each.id for each in findings if each.is_open]
        assert open_ == ["missing-files"]  # models that the project only names
        with writing(engine) as session:  # new rows come after the existing ones
            last = session.execute(select(func.max(col(Variant.id)))).scalar_one()
            variant = add_variant(session, add_anchor(session, "The gate is open."))
            accept(session, variant, ada.id)
            assert variant.id > last
        with reading(engine) as session:
            assert find(session, "gate", SearchKind.ANCHORS, limit=1).hits
        with writing(engine) as session, pytest.raises(Exception, match="append-only"):
            session.execute(update(Decision).values(note="changed"))
        before = hash_of(engine)
        with pytest.raises(HedgerowError, match="empty database"):
            copy_database(varied, engine, report=quiet)
        assert hash_of(engine) == before


@pytest.mark.slow
def test_a_copy_that_breaks_off_or_differs_leaves_an_empty_database(
    project: Engine, target: URL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(done: int, total: int, message: str) -> None:
        if done > total / 2:
            raise Killed

    store = copying._store

    def loses_a_row(session: Any, table: Any, rows: Any) -> None:
        store(session, table, rows[1:] if table.name == "decision" else rows)

    with opened(target) as engine:
        with pytest.raises(Killed):
            copy_database(project, engine, report=killed)
        assert engine.name != "sqlite" or not list(tmp_path.glob("*copy.db*"))
        monkeypatch.setattr(copying, "_store", loses_a_row)
        with pytest.raises(HedgerowError, match="differs from the project in decision"):
            copy_database(project, engine, report=quiet)
        monkeypatch.undo()
        copied = copy_database(project, engine, report=quiet)  # it is still empty
        assert hash_of(engine) == copied.content_hash


@pytest.mark.slow
def test_the_remains_of_a_killed_copy_are_removed(engine: Engine, tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    gone = new_partial(tmp_path / "copy.db").name.replace(f"-{os.getpid()}-", f"-{child}-")
    others = ["copy.db.bak", ".copy.txt"]
    for name in (gone, f"{gone}-wal", f"{gone}-shm", *others):
        (tmp_path / name).write_text("half")
    with opened(sqlite(tmp_path / "copy.db")) as copy:
        copy_database(engine, copy, report=quiet)
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {"copy.db", *others}


@pytest.mark.parametrize("target", ["postgresql"], indirect=True)
def test_a_row_that_postgresql_refuses_is_named(engine: Engine, target: URL) -> None:
    with writing(engine) as session:
        add_anchor(session).genre = "g" * 200
    with opened(target) as other:
        with pytest.raises(HedgerowError, match="refuses a row of the table anchor .*too long"):
            copy_database(engine, other, report=quiet)
        with reading(other) as session:
            assert session.execute(select(Anchor)).first() is None


@both_databases
def test_the_hash_tells_every_value_and_no_order_of_rows(project: Engine) -> None:
    before = hash_of(project)
    with writing(project) as session:
        put_setting(session, THRESHOLD, 61)
    assert hash_of(project) != before
    with writing(project) as session:
        session.execute(text("DELETE FROM setting WHERE key = :key"), {"key": THRESHOLD})
    assert hash_of(project) == before


@pytest.mark.slow
@both_databases
def test_a_project_whose_run_is_in_progress_is_not_copied(project: Engine, tmp_path: Path) -> None:
    with writing(project) as session:
        run = create_run(session, kind="diagnose", parameters={})
        run.state = RunState.RUNNING
    address = f"sqlite:///{tmp_path / 'copy.db'}"
    with pytest.raises(HedgerowError, match=f"Run {run.id} is running"):
        copy_project(project, load_settings(), address, report=quiet)
    with writing(project) as session:
        session.execute(update(Run).values(state=RunState.DONE))
    moved = copy_project(project, load_settings(), address, report=quiet)
    with opened(sqlite(tmp_path / "copy.db")) as copy:
        assert moved.content_hash == hash_of(copy)


@pytest.mark.parametrize("url", ["mysql://host/name", "nonsense", "C:\\x.db", ""])
def test_a_wrong_address_is_refused_without_being_quoted(url: str, engine: Engine) -> None:
    with pytest.raises(HedgerowError, match="address of a database") as refused:
        copy_project(engine, load_settings(), url, report=quiet)
    assert not url or url not in str(refused.value)


@both_databases
def test_the_projects_own_database_is_refused(engine: Engine) -> None:
    address = engine.url.render_as_string(hide_password=False)
    with pytest.raises(HedgerowError, match="own database"):
        copy_project(engine, load_settings(), address, report=quiet)
