"""Contradictions are found and counted, and derived values are repaired."""

import os
import socket
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, text
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.search import SearchKind, find
from curation.release.selection import Selection
from curation.review.gold.items import mark, remove
from curation.upkeep.checking import CHECKS, CheckResult, Finding, check_project
from db.columns import now
from db.engine import reading, writing
from db.models import (
    Encoder,
    Lease,
    Run,
    RunState,
    Status,
    Variant,
    Verdict,
)
from db.runs import create_run, get_run
from db.settings import load_settings
from tests.curation.support.deciding import accept, edit, reject
from tests.support.databases import both_databases
from tests.support.factories import add_family, freeze, model, person


def check(engine: Engine, *, repair: bool = False) -> CheckResult:
    return check_project(engine, load_settings(), repair=repair, report=lambda *_: None)


def wrong(engine: Engine) -> dict[str, Finding]:
    """The problems that the check finds."""
    return {each.id: each for each in check(engine).findings if each.is_open}


def only(engine: Engine) -> tuple[str, int, str]:
    """The id, number and example of the only problem."""
    (found,) = wrong(engine).values()
    return found.id, found.number, found.example


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
        freeze(session, name="first", author_id=ada, selection=Selection())
    return engine


def change(engine: Engine, statement: str, **values: object) -> None:
    """Change rows without the program."""
    with writing(engine) as session:
        session.execute(text(statement), values)


@both_databases
def test_a_project_that_the_program_made_agrees_with_itself(project: Engine) -> None:
    result = check(project)
    assert result.is_clean and [each.id for each in result.findings] == [each.id for each in CHECKS]


@pytest.mark.slow
@both_databases
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
    found = check(project)
    assert found.facts["clean"] is False
    assert CheckResult.of_facts(found.facts) == found  # as it is stored
    (problem,) = wrong(project).values()
    assert (problem.id, problem.number) == (id, 1) and uid in problem.sentence()
    repaired = check(project, repair=True)
    assert repaired.is_clean and not wrong(project)
    assert [each.id for each in repaired.findings if each.repaired] == [id]
    with reading(project) as session:
        assert session.execute(query).all() == before


def test_a_lost_decision_of_a_switched_model_is_counted(project: Engine) -> None:
    change(project, "UPDATE reviewer SET counts = false WHERE kind = 'model'")
    assert only(project)[:2] == ("status", 1)
    check(project, repair=True)
    with reading(project) as session:
        assert session.get_one(Variant, 5).status is Status.PENDING


def test_texts_that_cannot_be_searched_are_indexed_again(project: Engine) -> None:
    def hits() -> int:
        with reading(project) as session:
            return len(find(session, "unsafe", SearchKind.VARIANTS, limit=5).hits)

    change(
        project,
        "INSERT INTO variant_search (variant_search, rowid, text)"
        " SELECT 'delete', id, text FROM variant WHERE text = 'The bridge is unsafe.'",
    )
    assert hits() == 0 and only(project)[:2] == ("search", 1)
    check(project, repair=True)
    assert hits() == 1


def test_a_row_that_names_a_missing_one_is_found_and_left(project: Engine) -> None:
    with project.connect() as connection:
        for statement in (
            *("ROLLBACK", "PRAGMA foreign_keys=OFF", "PRAGMA query_only=OFF"),
            "UPDATE diagnostic SET variant_id = 99 WHERE variant_id = 1",
            "UPDATE variant SET author_id = 99 WHERE id = 2",
            *("PRAGMA foreign_keys=ON", "BEGIN"),
        ):
            connection.exec_driver_sql(statement)
    assert not check(project, repair=True).is_clean
    id, _, example = only(project)
    assert id == "references" and "reviewer" in example


def test_a_damaged_file_is_found(project: Engine) -> None:
    query = "SELECT rootpage FROM sqlite_master WHERE name = 'ix_variant_parent_id'"
    with reading(project) as session:
        page = session.execute(text(query)).scalar_one()
    project.dispose()  # this ends its log
    with Path(str(project.url.database)).open("r+b") as file:
        file.seek((page - 1) * 4096 + 3)
        file.write(b"\x00\x00")  # the index has no entries any more
    assert "integrity" in wrong(project)


@both_databases
def test_a_changed_release_is_found(project: Engine) -> None:
    if project.name == "sqlite":
        change(project, "DROP TRIGGER release_item_no_update")
    else:
        change(project, "ALTER TABLE release_item DISABLE TRIGGER USER")
    change(project, "UPDATE release_item SET text = 'changed' WHERE id = 1")
    assert only(project) == ("releases", 1, "release 1")
    assert not check(project, repair=True).is_clean


@pytest.mark.slow
@both_databases
def test_a_gold_item_without_a_settlement_of_its_own_is_found(project: Engine) -> None:
    with writing(project) as session:
        uids, lena = [session.get_one(Variant, n).uid for n in (1, 3)], person(session, "Lena")
        for uid in uids:
            mark(session, uid, Verdict.ACCEPT, reviewer_id=lena)
    assert wrong(project) == {}
    change(project, "UPDATE gold_item SET variant_id = 3 WHERE variant_id = 1")
    assert only(project) == ("gold", 1, uids[1])
    with writing(project) as session:  # as advised
        remove(session, uids[1])
        mark(session, uids[1], Verdict.ACCEPT, reviewer_id=lena)
    assert wrong(project) == {}


@pytest.mark.slow
def test_files_without_rows_and_rows_without_files(project: Engine, home: Path) -> None:
    with writing(project) as session:
        run = create_run(session, kind="train", parameters={})
        run.state = RunState.DONE
        session.add(Encoder(name="mine", fingerprint="f" * 64, path=f"{run.folder}/model"))
    model = home / "hedgerow_data" / run.folder / "model"
    model.mkdir(parents=True)
    runs = model.parent.parent
    (runs / "mine").mkdir()
    assert not wrong(project)
    model.rmdir()
    ownerless = runs / "00099-train"
    ownerless.mkdir()
    assert {name: found.example for name, found in wrong(project).items()} == {
        "missing-files": f"{run.folder}/model",
        "ownerless-folders": str(ownerless),
    }
    assert not check(project, repair=True).is_clean and ownerless.is_dir()


def running(session: Session, **values: object) -> Run:
    run = create_run(session, kind="train", parameters={})
    later = now() + timedelta(minutes=5)
    named = {"state": RunState.RUNNING, "lease_until": later, "host": "elsewhere", "pid": 1}
    run.sqlmodel_update(named | values)
    return run


def dead_pid() -> int:
    """The id of a process that has ended."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


@pytest.mark.slow
@both_databases
@pytest.mark.parametrize("gone", ["lease", "process"])
def test_a_run_whose_process_is_gone_is_ended_and_can_be_resumed(
    gone: str, project: Engine
) -> None:
    with writing(project) as session:
        alive = running(session)
        here = {"host": socket.gethostname(), "pid": dead_pid()}
        past = {"lease_until": now() - timedelta(minutes=1)}
        dead = running(session, **(past if gone == "lease" else here))
    assert only(project)[2] == f"run {dead.id}, train" and check(project, repair=True).is_clean
    with reading(project) as session:
        assert get_run(session, dead.id).state is RunState.INTERRUPTED
        assert get_run(session, dead.id).message
        assert get_run(session, alive.id).state is RunState.RUNNING


@both_databases
def test_lapsed_leases_are_no_problem_and_are_removed(project: Engine) -> None:
    with writing(project) as session:
        ada = person(session)
        for variant, minutes in ((1, -1), (2, 5)):
            until = now() + timedelta(minutes=minutes)
            session.add(Lease(variant_id=variant, reviewer_id=ada, window="w/s/1/h", until=until))
    result = check(project)
    assert result.is_clean and result.findings[-1].number == 1
    check(project, repair=True)
    with reading(project) as session:
        assert session.execute(select(col(Lease.variant_id))).scalars().all() == [2]
