"""A copy has the same content as its source, on either database, or there is none."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select, text, update
from sqlalchemy.engine import URL
from sqlmodel import col

from curation.partial_files import new_partial
from curation.project.opening import DEFAULTS, THRESHOLD, put_setting
from curation.project.search import SearchKind, find
from curation.review.gold import practice
from curation.review.gold.items import mark
from curation.review.people.merging import merge
from curation.upkeep import copying
from curation.upkeep.checking import check_project
from curation.upkeep.content import content_hash, hash_tables
from curation.upkeep.copying import copy_database
from curation.upkeep.moving import copy_project
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    Anchor,
    Decision,
    GoldUse,
    Reviewer,
    Run,
    RunState,
    Setting,
    Source,
    Variant,
    Verdict,
)
from db.runs import create_run
from db.settings import load_settings
from tests.curation.support.deciding import accept, edit
from tests.support.databases import Fill, both_databases, one_database, opened, sqlite
from tests.support.factories import add_anchor, add_variant, person
from tests.support.hostile_project import fill as fill_with_hostile_texts

pytestmark = both_databases

NUMBERS = {"a": [1e22, 0.1 + 0.2, 1e-7, -0.0, 2**62, 1.0, 3, True, None], "z": {"ß": "\n", "b": {}}}


def quiet(*_: object) -> None:
    """Ignores the progress."""


def hash_of(engine: Engine) -> str:
    with reading(engine) as session:
        return content_hash(hash_tables(session.connection(), quiet))


@pytest.fixture
def project(engine: Engine, fill: Fill) -> Engine:
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
        older, newer = (session.get_one(Reviewer, key) for key in (first, second))
        merge(session, older, newer)
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


def test_a_copy_has_the_same_content_and_can_be_continued(project: Engine, target: URL) -> None:
    before = hash_of(project)
    with opened(target) as engine:
        copied = copy_database(project, engine, report=quiet)
        assert copied.content_hash == before == hash_of(engine)
        assert min(copied.rows[name] for name in ("decision", "release_item", "answer", "note")) > 1
        with reading(engine) as session:
            assert session.get_one(Setting, "numbers").value == NUMBERS
            ada = session.execute(select(Reviewer).where(col(Reviewer.name) == "Ada")).scalar_one()
            assert ada.merged_into_id is not None and ada.merged_into_id > ada.id
            assert find(session, "door", SearchKind.ANCHORS, limit=1).hits
        assert wrong(engine) == {"missing-files"}  # models that the project only names
        with writing(engine) as session:  # new rows come after the existing ones
            last = session.execute(select(func.max(col(Variant.id)))).scalar_one()
            anchor = add_anchor(session, "The gate is open.")
            variant = add_variant(session, anchor)
            accept(session, variant, ada.id)
            assert variant.id > last
        with reading(engine) as session:
            assert find(session, "gate", SearchKind.ANCHORS, limit=1).hits
        with writing(engine) as session, pytest.raises(Exception, match="append-only"):
            session.execute(update(Decision).values(note="changed"))


def wrong(engine: Engine) -> set[str]:
    """The checks that find a problem."""
    findings = check_project(engine, load_settings(), report=quiet).findings
    return {each.id for each in findings if each.is_open}


def test_there_and_back_again(project: Engine, target: URL, tmp_path: Path) -> None:
    with opened(target) as there, opened(sqlite(tmp_path / "back.db")) as back:
        copy_database(project, there, report=quiet)
        copy_database(there, back, report=quiet)
        assert hash_of(back) == hash_of(project)


def test_a_database_with_something_in_it_is_refused(project: Engine, target: URL) -> None:
    with opened(target) as engine:
        copy_database(project, engine, report=quiet)
        with writing(engine) as session:
            session.execute(update(Source).values(note="mine"))
        before = hash_of(engine)
        with pytest.raises(HedgerowError, match="Expected an empty database"):
            copy_database(project, engine, report=quiet)
        assert hash_of(engine) == before


def test_a_copy_that_breaks_off_leaves_an_empty_database(
    project: Engine, target: URL, tmp_path: Path
) -> None:
    class Killed(BaseException):
        pass

    def killed(done: int, total: int, message: str) -> None:
        if done > total / 2 + 10:
            raise Killed

    with opened(target) as engine:
        with pytest.raises(Killed):
            copy_database(project, engine, report=killed)
        if engine.name == "sqlite":
            assert not list(tmp_path.glob("*copy.db*"))
        copied = copy_database(project, engine, report=quiet)  # it is still empty
        assert hash_of(engine) == copied.content_hash


@one_database
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
    there = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert there == {"copy.db", *others}


def test_a_copy_that_differs_is_removed(
    project: Engine, target: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = copying._store

    def loses_a_row(session: Any, table: Any, rows: Any) -> None:
        store(session, table, rows[1:] if table.name == "note" else rows)

    monkeypatch.setattr(copying, "_store", loses_a_row)
    with opened(target) as engine:
        with pytest.raises(HedgerowError, match="differs from the project in note"):
            copy_database(project, engine, report=quiet)
        monkeypatch.undo()
        copy_database(project, engine, report=quiet)


@one_database
@pytest.mark.parametrize("target", ["postgresql"], indirect=True)
def test_a_row_that_postgresql_refuses_is_named(engine: Engine, target: URL) -> None:
    with writing(engine) as session:
        add_anchor(session).genre = "g" * 200
    with opened(target) as other:
        with pytest.raises(HedgerowError, match="refuses a row of the table anchor .*too long"):
            copy_database(engine, other, report=quiet)
        with reading(other) as session:
            assert session.execute(select(Anchor)).first() is None


def test_the_hash_tells_every_value_and_no_order_of_rows(project: Engine) -> None:
    before = hash_of(project)
    with writing(project) as session:
        put_setting(session, THRESHOLD, 61)
    assert hash_of(project) != before
    with writing(project) as session:
        session.execute(text("DELETE FROM setting WHERE key = :key"), {"key": THRESHOLD})
    assert hash_of(project) == before


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
    with pytest.raises(HedgerowError, match="Expected the address of a database") as refused:
        copy_project(engine, load_settings(), url, report=quiet)
    assert not url or url not in str(refused.value)


def test_the_projects_own_database_is_refused(engine: Engine) -> None:
    address = engine.url.render_as_string(hide_password=False)
    with pytest.raises(HedgerowError, match="the project's own database"):
        copy_project(engine, load_settings(), address, report=quiet)
