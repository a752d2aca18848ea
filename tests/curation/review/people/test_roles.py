"""Roles: changes that a viewer or a reviewer may not make are refused in every function."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Table, delete, insert, select, text, update
from sqlalchemy.orm import Session
from sqlmodel import SQLModel, col

from curation.anchors.attributes import set_facts
from curation.anchors.changes import correct_anchor, retire_anchor
from curation.generation.costs.prices import set_price
from curation.generation.prompts import save_copy
from curation.generation.request import Price
from curation.project.opening import PRICES, put_setting
from curation.project.shared_settings import change_threshold
from curation.release.freezing import create_release
from curation.review import actions
from curation.review.bulk import apply_rule, parse_rule
from curation.review.discussing import mark
from curation.review.notes import add_note
from curation.review.people.merging import merge
from curation.review.people.reviewers import ensure_reviewer, rename_person
from curation.review.people.roles import (
    REVIEWER_TABLES,
    Role,
    for_the_project,
    is_lead,
    require,
    set_role,
    set_who_acts,
)
from curation.review.undo import undo
from curation.upkeep.restoring import restore_backup
from curation.variants.own import write_variant
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Anchor, Reviewer, Run, Variant, Verdict
from db.runs import create_run, request_cancel
from tests.curation.review.people.support.acting import Ids, act_as, content, refused, shown_card
from tests.support.checkout import ROOT
from tests.support.databases import both_databases, one_database
from tests.support.write_functions import stand_ins, write_functions
from training.benchmarks.data.sources import keep_data
from training.evaluation.probe_sets import Pasted, create_set
from training.evaluation.probes import add_own_probe
from training.runs.cancelling import cancel_run
from training.runs.removal import delete_run

pytestmark = both_databases


def _person(session: Session, ids: Ids, role: Role) -> Reviewer:
    return session.get_one(Reviewer, ids[role])


def _prompt(session: Session) -> Any:
    from curation.generation.prompts import prompt_versions

    return prompt_versions(session, "negation")[0]


OF_RUNS = {"store_cosines", "require_success", "execute"}
"""Only a run's own process calls these, after it has computed something."""

Act = Callable[[Session, Ids], Any]

OF_REVIEWERS: dict[str, Act] = {
    "accept": lambda s, ids: actions.accept(s, shown_card(s, ids), reviewer_id=ids[Role.REVIEWER]),
    "reject": lambda s, ids: actions.reject(
        s, shown_card(s, ids), reviewer_id=ids[Role.REVIEWER], reason="wrong_scope"
    ),
    "reject a family": lambda s, ids: actions.reject_family(
        s, shown_card(s, ids), reviewer_id=ids[Role.REVIEWER]
    ),
    "edit": lambda s, ids: actions.edit(
        s, shown_card(s, ids), reviewer_id=ids[Role.REVIEWER], text="The bridge isn't safe."
    ),
    "write a variant": lambda s, ids: write_variant(
        s,
        anchor_id=s.get_one(Variant, ids["verbal"]).anchor_id,
        type_id="verbal",
        text="The bridge is hardly not safe.",
        reviewer_id=ids[Role.REVIEWER],
        cue=None,
        action_id="an-action",
    ),
    "take back": lambda s, ids: undo(s, reviewer_id=ids[Role.REVIEWER]),
    "mark": lambda s, ids: mark(s, ids["verbal"], reviewer_id=ids[Role.REVIEWER], remark="Why?"),
    "note": lambda s, ids: add_note(
        s, ids["verbal"], reviewer_id=ids[Role.REVIEWER], text="A note."
    ),
}
OF_LEADS: dict[str, Act] = {
    "settle": lambda s, ids: actions.accept(
        s,
        actions.shown(s.get_one(Variant, ids["affixal"]), settles=True),
        reviewer_id=ids[Role.REVIEWER],
    ),
    "decide by a rule": lambda s, ids: apply_rule(
        s, parse_rule("source = test"), verdict=Verdict.ACCEPT, reviewer_id=ids[Role.REVIEWER]
    ),
    "correct an anchor": lambda s, ids: correct_anchor(
        s,
        s.execute(select(col(Anchor.id))).scalar_one(),
        "The ferry is safe.",
        reviewer_id=ids[Role.LEAD],
        expected_revision=1,
        insist=True,
    ),
    "retire an anchor": lambda s, ids: retire_anchor(
        s, s.execute(select(col(Anchor.id))).scalar_one()
    ),
    "describe anchors": lambda s, ids: set_facts(
        s, list(s.execute(select(col(Anchor.id))).scalars()), genre="news", language="en"
    ),
    "release": lambda s, ids: create_release(s, name="", author_id=ids[Role.LEAD]),
    "threshold": lambda s, ids: change_threshold(s, 45),
    "price": lambda s, ids: set_price(s, "a-model", Price(prompt=1.0, completion=2.0)),
    "prompt": lambda s, ids: save_copy(
        s, _prompt(s), _prompt(s).template + " Be brief.", author_id=ids[Role.LEAD]
    ),
    "setting": lambda s, ids: put_setting(s, PRICES, {"a-model": None}),
    "add a person": lambda s, ids: ensure_reviewer(s, "Somebody new"),
    "rename": lambda s, ids: rename_person(s, _person(s, ids, Role.VIEWER), "Vic"),
    "merge": lambda s, ids: merge(s, _person(s, ids, Role.VIEWER), _person(s, ids, Role.REVIEWER)),
    "role": lambda s, ids: set_role(s, _person(s, ids, Role.VIEWER), Role.LEAD),
    "start a run": lambda s, ids: create_run(s, kind="measure", parameters={}),
    "cancel a run": lambda s, ids: request_cancel(s, ids["run"]),
    "probe": lambda s, ids: add_own_probe(
        s, anchor="It is hot.", text="It is not hot.", author_id=ids[Role.LEAD]
    ),
    "probe set": lambda s, ids: create_set(
        s, name="mine", content=Pasted([], ["It is hot.", "It is cold."]), author_id=None
    ),
}


@pytest.mark.parametrize("act", [*OF_REVIEWERS, *OF_LEADS])
def test_what_each_role_may_do(engine: Engine, people: Ids, act: str) -> None:
    do = (OF_REVIEWERS | OF_LEADS)[act]
    for role in (Role.VIEWER, Role.REVIEWER):
        if role is Role.REVIEWER and act in OF_REVIEWERS:
            continue
        act_as(engine, people[role])
        before = content(engine)
        with refused(role), writing(engine) as session:
            do(session, people)
        assert content(engine) == before
        # The same holds for a session that was opened while the role was another one.
        set_who_acts(None)
        with refused(role), writing(engine) as session:
            act_as(engine, people[role])
            do(session, people)
        assert content(engine) == before
    allowed = Role.REVIEWER if act in OF_REVIEWERS else Role.LEAD
    act_as(engine, people[allowed])
    before = content(engine)
    with writing(engine) as session:
        do(session, people)
    set_who_acts(None)
    assert content(engine) != before


@one_database
def test_every_write_function_refuses_a_viewer(
    engine: Engine, people: Ids, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All functions that write, found in the sources, so that new ones are included."""
    every = write_functions("curation", "training", "db")
    found = [one for one in every if one.name not in OF_RUNS and one.module != "db.engine"]
    assert {"accept", "delete_run", "create_release"} <= {one.name for one in found}
    monkeypatch.chdir(home)
    act_as(engine, people[Role.VIEWER])
    before = content(engine)
    for one in found:
        began: list[str] = []
        with refused(Role.VIEWER):
            if one.takes == "session":
                with writing(engine) as session:
                    began.append(one.name)
                    one.get()(session, **stand_ins(one.get()))
            else:
                one.get()(engine, **stand_ins(one.get()))
        assert not began
    assert content(engine) == before
    assert [path.name for path in home.iterdir() if not path.name.startswith("hedgerow.db")] == []


def test_there_is_no_other_way_to_a_session() -> None:
    """Writing sessions only come from ``writing``, which checks the role of the acting person."""
    makers = re.compile(r"\bSession\(|sessionmaker\(|\braw_connection\(|execution_options\(writes")
    packages = ("curation", "training", "db", "hedgerow", "pages", "cli")
    sources = [path for name in packages for path in (ROOT / name).rglob("*.py")]
    there = {str(path.relative_to(ROOT)) for path in sources if makers.search(path.read_text())}
    assert there == {"db/engine.py", "db/migrate.py"}


@one_database
def test_functions_that_open_sessions_themselves(engine: Engine, people: Ids, home: Any) -> None:
    from db.settings import load_settings

    settings = load_settings(home=home)
    for role in (Role.VIEWER, Role.REVIEWER):
        act_as(engine, people[role])
        with refused(role):
            cancel_run(engine, settings, people["run"])
        with refused(role):
            delete_run(engine, settings, people["run"])
        with refused(role):
            restore_backup(settings, home / "backup.zip", report=lambda *_: None)
        with refused(role):
            keep_data(settings.data_folder, "nevir", {"a.csv": b"x"})
        assert not (settings.data_folder / "benchmarks").exists()
    set_who_acts(None)
    with reading(engine) as session:
        assert not session.get_one(Run, people["run"]).cancel_requested


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_no_statement_changes_a_table_that_is_not_for_the_role(
    engine: Engine, people: Ids, role: Role
) -> None:
    for name, table in SQLModel.metadata.tables.items():
        for statement in _changes(table):
            if role is Role.REVIEWER and name in REVIEWER_TABLES:
                continue
            with refused(role), writing(engine) as session:
                act_as(engine, people[role])
                session.connection().execute(statement)
            set_who_acts(None)
    for raw in (
        "CREATE TABLE theirs (id INTEGER)",
        "DROP TABLE setting",
        '  delete from "setting"',
        "WITH gone AS (SELECT 1) DELETE FROM setting",
        "REPLACE INTO setting (key) VALUES ('x')",
    ):
        with refused(role), writing(engine) as session:
            act_as(engine, people[role])
            session.execute(text(raw))
        set_who_acts(None)


def _changes(table: Table) -> list[Any]:
    first = next(iter(table.columns))
    added = insert(table).from_select([first], select(first), include_defaults=False)
    return [added, update(table).values({first: first}), delete(table)]


def test_a_role_counts_from_the_next_write_on(engine: Engine, people: Ids) -> None:
    act_as(engine, people[Role.REVIEWER])
    with writing(engine) as session:
        OF_REVIEWERS["note"](session, people)
    set_who_acts(None)
    with writing(engine) as session:
        set_role(session, _person(session, people, Role.REVIEWER), Role.VIEWER)
    act_as(engine, people[Role.REVIEWER])
    with refused(Role.VIEWER), writing(engine) as session:
        OF_REVIEWERS["note"](session, people)


@one_database
def test_consequences_for_the_project_need_no_role(engine: Engine, people: Ids) -> None:
    act_as(engine, people[Role.VIEWER])
    with for_the_project(), writing(engine) as session:
        ensure_reviewer(session, "Somebody new")
    with refused(Role.VIEWER):
        require(Role.REVIEWER)


@one_database
def test_nobody_who_has_to_sign_in_first_may_write(engine: Engine, people: Ids) -> None:
    act_as(engine, Role.VIEWER)
    with refused(Role.VIEWER), writing(engine) as session:
        OF_REVIEWERS["note"](session, people)


def test_the_last_lead_stays_one(engine: Engine, people: Ids) -> None:
    with writing(engine) as session:
        lead = _person(session, people, Role.LEAD)
        assert is_lead(session, lead.id)
        with pytest.raises(HedgerowError, match="'lead' is the last lead"):
            set_role(session, lead, Role.VIEWER)
        set_role(session, _person(session, people, Role.VIEWER), Role.LEAD)
        set_role(session, lead, Role.VIEWER)
        assert not is_lead(session, lead.id)


@one_database
def test_the_settings_decide_for_who_signs_in(engine: Engine, people: Ids) -> None:
    with writing(engine) as session:
        viewer = _person(session, people, Role.VIEWER)
        viewer.identity = "https://id.example subject"
        with pytest.raises(HedgerowError, match="HEDGEROW_SIGN_IN_LEADS"):
            set_role(session, viewer, Role.LEAD)
        assert viewer.role is Role.VIEWER


def test_a_common_table_expression_hides_no_change(engine: Engine, people: Ids) -> None:
    for role in (Role.REVIEWER, Role.VIEWER):
        act_as(engine, people[role])
        with reading(engine) as session:
            found = session.execute(text("WITH one AS (SELECT 1 AS n) SELECT n FROM one")).scalar()
            assert found == 1
            with pytest.raises(HedgerowError):
                session.execute(text("WITH one AS (SELECT 1) DELETE FROM setting"))
