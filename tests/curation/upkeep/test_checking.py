"""Contradictions are found and counted, and derived values are repaired."""

import os
import socket
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, text
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.project.search import SearchKind, find
from curation.release.freezing import create_release
from curation.release.selection import Selection
from curation.review.gold.items import mark, remove
from curation.upkeep.checking import CHECKS, CheckResult, Finding, check_project
from db.columns import now
from db.engine import reading, writing
from db.models import (
    Encoder,
    Lease,
    Reviewer,
    ReviewerKind,
    Run,
    RunState,
    Status,
    Variant,
    Verdict,
)
from db.runs import create_run, get_run
from db.settings import load_settings
from tests.curation.support.deciding import accept, edit, reject
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, model, person

pytestmark = both_databases


def check(engine: Engine, *, repair: bool = False) -> CheckResult:
    return check_project(engine, load_settings(), repair=repair, report=lambda *_: None)


def wrong(engine: Engine) -> dict[str, Finding]:
    """The problems that the check finds."""
    return {each.id: each for each in check(engine).findings if each.is_open}


def only(engine: Engine) -> Finding:
    """The only problem."""
    (found,) = wrong(engine).values()
    return found


@pytest.fixture
def project(engine: Engine) -> Engine:
    """Accepted, rejected, edited, disputed and model-only variants, and a release."""
    with writing(engine) as session:
        ada, bert, llm = person(session), person(session, "Bert"), model(session)
        family = list(add_family(session).values())
        for variant in family[:3]:
            accept(session, variant, ada)
        reject(session, family[1], bert)
        reject(session, family[3], ada)
        accept(session, family[4], llm)
        edit(session, family[5], ada, "It is quite possible that the bridge is safe.")
        create_release(session, name="first", author_id=ada, selection=Selection())
    return engine


def change(engine: Engine, statement: str, **values: object) -> None:
    """Change rows without the program."""
    with writing(engine) as session:
        session.execute(text(statement), values)


def test_a_project_that_the_program_made_agrees_with_itself(project: Engine) -> None:
    result = check(project)
    assert result.is_clean
    assert [each.id for each in result.findings] == [each.id for each in CHECKS]
    assert all(each.sentence().endswith(": OK.") for each in result.findings)


@pytest.mark.parametrize(
    ("column", "value", "id"),
    [
        ("status", "'pending'", "status"),
        ("model_only", "true", "status"),
        ("second_look", "true", "status"),
        ("source_id", "0", "sources"),
        ("retired", "true", "retired"),
    ],
)
def test_a_wrong_stored_value_is_found_and_repaired(
    column: str, value: str, id: str, project: Engine
) -> None:
    columns = (Variant.id, Variant.status, Variant.model_only, Variant.source_id, Variant.retired)
    query = select(*columns).order_by(col(Variant.id))  # type: ignore[call-overload]
    with reading(project) as session:
        before = session.execute(query).all()
        uid = session.get_one(Variant, 1).uid
    change(project, f"UPDATE variant SET {column} = {value} WHERE id = 1")
    found = only(project)
    assert (found.id, found.number) == (id, 1)
    assert uid in found.sentence()
    repaired = check(project, repair=True)
    assert repaired.is_clean
    assert [each.id for each in repaired.findings if each.repaired] == [id]
    assert not wrong(project)
    with reading(project) as session:
        assert session.execute(query).all() == before


def test_a_lost_decision_of_a_switched_model_is_counted(project: Engine) -> None:
    with writing(project) as session:  # as if the switch had been stored without recounting
        kind = col(Reviewer.kind) == ReviewerKind.MODEL
        session.execute(select(Reviewer).where(kind)).scalar_one().counts = False
    assert only(project).number == 1
    check(project, repair=True)
    with reading(project) as session:
        assert session.get_one(Variant, 5).status is Status.PENDING


@one_database
def test_texts_that_cannot_be_searched_are_indexed_again(project: Engine) -> None:
    change(
        project,
        "INSERT INTO variant_search (variant_search, rowid, text)"
        " SELECT 'delete', id, text FROM variant WHERE text = 'The bridge is unsafe.'",
    )
    with reading(project) as session:
        assert not find(session, "unsafe", SearchKind.VARIANTS, limit=5).hits
    found = only(project)
    assert (found.id, found.number) == ("search", 1)
    check(project, repair=True)
    with reading(project) as session:
        assert find(session, "unsafe", SearchKind.VARIANTS, limit=5).hits


@one_database
def test_a_row_that_names_a_missing_one_is_found_and_left(project: Engine) -> None:
    with project.connect() as connection:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        connection.exec_driver_sql("PRAGMA query_only=OFF")
        connection.exec_driver_sql("UPDATE diagnostic SET variant_id = 99 WHERE variant_id = 1")
        connection.exec_driver_sql("UPDATE variant SET author_id = 99 WHERE id = 2")
        connection.exec_driver_sql("PRAGMA foreign_keys=ON")
        connection.exec_driver_sql("BEGIN")
    found = check(project, repair=True)
    assert not found.is_clean
    open_ = [each for each in found.findings if each.is_open]
    assert [each.id for each in open_] == ["references"]
    assert "a missing row of reviewer" in open_[0].example
    assert "Another program" in open_[0].sentence()


@one_database
def test_a_damaged_file_is_found(project: Engine) -> None:
    with writing(project) as session:
        page = session.execute(
            text("SELECT rootpage FROM sqlite_master WHERE name = 'ix_variant_parent_id'")
        ).scalar_one()
    project.dispose()  # this ends its log
    path = Path(str(project.url.database))
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096 + 3)
        file.write(b"\x00\x00")  # the index has no entries any more
    assert "integrity" in wrong(project)


def test_a_changed_release_is_found(project: Engine) -> None:
    with writing(project) as session:
        if project.name == "sqlite":
            session.execute(text("DROP TRIGGER release_item_no_update"))
        else:
            session.execute(text("ALTER TABLE release_item DISABLE TRIGGER USER"))
        session.execute(text("UPDATE release_item SET text = 'changed' WHERE id = 1"))
    found = only(project)
    assert (found.id, found.example) == ("releases", "release 1")
    assert not check(project, repair=True).is_clean


def test_a_gold_item_without_a_settlement_of_its_own_is_found(project: Engine) -> None:
    with writing(project) as session:
        uids = [session.get_one(Variant, number).uid for number in (1, 3)]
        for uid in uids:
            mark(session, uid, Verdict.ACCEPT, reviewer_id=person(session, "Lena"))
    assert wrong(project) == {}
    with writing(project) as session:
        session.execute(text("UPDATE gold_item SET variant_id = 3 WHERE variant_id = 1"))
    found = only(project)
    assert (found.id, found.number, found.example) == ("gold", 1, uids[1])
    with writing(project) as session:  # as advised
        remove(session, uids[1])
        mark(session, uids[1], Verdict.ACCEPT, reviewer_id=person(session, "Lena"))
    assert wrong(project) == {}


def test_files_without_rows_and_rows_without_files(project: Engine, home: Path) -> None:
    with writing(project) as session:
        run = create_run(session, kind="train", parameters={})
        run.state = RunState.DONE
        session.add(Encoder(name="mine", fingerprint="f" * 64, path=f"{run.folder}/model"))
    data = home / "hedgerow_data"
    (data / run.folder / "model").mkdir(parents=True)
    (data / "runs" / "mine").mkdir()
    assert not wrong(project)
    (data / run.folder / "model").rmdir()
    (data / "runs" / "00099-train").mkdir()
    found = wrong(project)
    assert found["missing-files"].example == f"{run.folder}/model"
    assert found["ownerless-folders"].example == str(data / "runs" / "00099-train")
    assert len(found) == 2
    assert not check(project, repair=True).is_clean
    assert (data / "runs" / "00099-train").is_dir()


def running(session: Session, **values: object) -> Run:
    run = create_run(session, kind="train", parameters={})
    later = now() + timedelta(minutes=5)
    named = {"state": RunState.RUNNING, "lease_until": later, "host": "elsewhere", "pid": 1}
    run.sqlmodel_update(named | values)
    return run


@pytest.mark.parametrize("gone", ["lease", "process"])
def test_a_run_whose_process_is_gone_is_ended_and_can_be_resumed(
    gone: str, project: Engine, dead_pid: Callable[[], int]
) -> None:
    with writing(project) as session:
        alive = running(session)
        here = {"host": socket.gethostname(), "pid": dead_pid()}
        past = {"lease_until": now() - timedelta(minutes=1)}
        dead = running(session, **(past if gone == "lease" else here))
    assert only(project).example == f"run {dead.id}, train"
    assert check(project, repair=True).is_clean
    with reading(project) as session:
        stored = session.execute(select(col(Run.state)).order_by(col(Run.id))).scalars().all()
        assert stored == [RunState.RUNNING, RunState.INTERRUPTED]
        assert get_run(session, dead.id).message
        assert get_run(session, alive.id).state is RunState.RUNNING


@pytest.fixture
def dead_pid() -> Callable[[], int]:
    """The id of a process that has ended."""

    def make() -> int:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return child

    return make


def test_lapsed_leases_are_no_problem_and_are_removed(project: Engine) -> None:
    with writing(project) as session:
        ada = person(session)
        for variant, minutes in ((1, -1), (2, 5)):
            until = now() + timedelta(minutes=minutes)
            session.add(Lease(variant_id=variant, reviewer_id=ada, window="w/s/1/h", until=until))
    result = check(project)
    assert result.is_clean
    assert "1 harmless leftovers" in result.findings[-1].sentence()
    check(project, repair=True)
    with reading(project) as session:
        assert session.execute(select(col(Lease.variant_id))).scalars().all() == [2]


def test_a_result_is_the_same_after_it_was_stored(project: Engine) -> None:
    change(project, "UPDATE variant SET status = 'rejected' WHERE id = 1")
    result = check(project)
    assert result.facts["clean"] is False
    assert CheckResult.of_facts(result.facts) == result
