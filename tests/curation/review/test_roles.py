"""Roles: changes that a viewer or a reviewer may not make are refused in every function, and in
the review page's windows."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Table, delete, insert, select, text, update
from sqlalchemy.orm import Session
from sqlmodel import SQLModel, col

from curation.decisions import people as changes
from curation.decisions.assignment_progress import assign
from curation.decisions.leases import on_other_screens
from curation.decisions.notes import add_note
from curation.decisions.reviewers import ensure_reviewer, rename_person
from curation.decisions.roles import (
    REVIEWER_TABLES,
    for_the_project,
    guard,
    require,
    role_of,
    set_role,
    set_who_acts,
)
from curation.editing.anchors import correct_anchor, retire_anchor
from curation.editing.own_variants import write_variant
from curation.generation.prompts import prompt_versions, save_copy, seed_prompts
from curation.project.settings import PRICES, put_setting
from curation.review import deciding
from curation.review.browser_window.adjudicating import ReadingState
from curation.review.browser_window.key_actions import ReviewState
from curation.review.discussing import mark
from curation.review.queue import Queue
from curation.review.rules import apply_rule, parse_rule
from curation.review.undo import undo
from curation.taxonomy.project_types import list_types
from curation.upkeep.restoring import restore_backup
from db.engine import reading, writing
from db.models import Anchor, Decision, Reviewer, ReviewPosition, Run, Status, TeamRole, Variant
from db.runs import create_run, request_cancel
from db.settings import load_settings
from tests.curation.review.desk import VERBAL, A, Desk, R, refused
from tests.support.checkout import ROOT
from tests.support.databases import Fill, both_databases
from tests.support.factories import add_family, engine_of, freeze, person
from tests.support.write_functions import stand_ins, write_functions
from training.benchmarks.sources import keep_data
from training.runs.kinds import cancel_run
from training.runs.removal import delete_run

FACTS = {TeamRole.VIEWER: "You are a viewer", TeamRole.REVIEWER: "Only a lead can do this"}
"""How a refusal starts for a viewer and for a reviewer."""

Ids = dict[str, int]


@pytest.fixture
def people(engine: Engine, fill: Fill) -> Iterator[Ids]:
    """The ids of a lead, a reviewer and a viewer, of a variant of each type, and of a run."""

    def made(session: Session) -> Ids:
        ids = {key: variant.id for key, variant in add_family(session).items()}
        ids |= {role: person(session, role) for role in TeamRole}
        for role in TeamRole:
            set_role(session, ids[role], role)
        seed_prompts(session)
        variant = session.get_one(Variant, ids["lexical"])
        deciding.accept(session, deciding.shown(variant), reviewer_id=ids[TeamRole.REVIEWER])
        ids["run"] = create_run(session, kind="measure", parameters={}).id
        return ids

    ids = fill(engine, made)
    guard(engine)
    yield ids
    set_who_acts(None)


def refuses(role: TeamRole) -> Any:
    """Expect the refusal of a change that this role may not make."""
    return refused(FACTS[role])


def act_as(engine: Engine, who: int | TeamRole) -> None:
    """Make this person, or somebody with this role, the current user."""
    set_who_acts(lambda: who, engine)


def content(engine: Engine) -> dict[str, list[Any]]:
    """All rows of all tables."""
    with reading(engine) as session:
        return {
            name: session.execute(select(table).order_by(*table.primary_key)).all()
            for name, table in SQLModel.metadata.tables.items()
        }


def verbal(session: Session) -> deciding.ShownCard:
    return deciding.shown(session.get_one(Variant, VERBAL))


def anchor(session: Session) -> int:
    return session.execute(select(col(Anchor.id))).scalar_one()


def copied_prompt(session: Session, ids: Ids) -> object:
    prompt = prompt_versions(session, "negation")[0]
    return save_copy(session, prompt, prompt.template + " Be brief.", author_id=ids[TeamRole.LEAD])


OF_RUNS = {"store_cosines", "require_success", "execute"}
"""Only a run's own process calls these, after it has computed something."""

CONSEQUENCES = {"unmark", "refresh_in_pieces", "finish_interrupted", "undo_rest", "whole_action"}
"""These accompany or end a change that was allowed when it began."""

Act = Callable[[Session, Ids], Any]

OF_REVIEWERS: dict[str, Act] = {
    "accept": lambda s, ids: deciding.accept(s, verbal(s), reviewer_id=ids[TeamRole.REVIEWER]),
    "reject": lambda s, ids: deciding.reject(
        s, verbal(s), reviewer_id=ids[TeamRole.REVIEWER], reason="wrong_scope"
    ),
    "reject a family": lambda s, ids: deciding.reject_family(
        s, verbal(s), reviewer_id=ids[TeamRole.REVIEWER]
    ),
    "edit": lambda s, ids: deciding.edit(
        s, verbal(s), reviewer_id=ids[TeamRole.REVIEWER], text="The bridge isn't safe."
    ),
    "write a variant": lambda s, ids: write_variant(
        s,
        anchor_id=s.get_one(Variant, ids["verbal"]).anchor_id,
        type_id="verbal",
        text="The bridge is hardly not safe.",
        reviewer_id=ids[TeamRole.REVIEWER],
        cue=None,
        action_id="an-action",
    ),
    "take back": lambda s, ids: undo(s, reviewer_id=ids[TeamRole.REVIEWER]),
    "mark": lambda s, ids: mark(
        s, ids["verbal"], reviewer_id=ids[TeamRole.REVIEWER], remark="Why?"
    ),
    "note": lambda s, ids: add_note(
        s, ids["verbal"], reviewer_id=ids[TeamRole.REVIEWER], text="A note."
    ),
}
OF_LEADS: dict[str, Act] = {
    "settle": lambda s, ids: deciding.accept(
        s,
        deciding.shown(s.get_one(Variant, ids["affixal"]), settles=True),
        reviewer_id=ids[TeamRole.REVIEWER],
    ),
    "decide by a rule": lambda s, ids: apply_rule(
        engine_of(s), parse_rule("source = test"), verdict=A, reviewer_id=ids[TeamRole.REVIEWER]
    ),
    "correct an anchor": lambda s, ids: correct_anchor(
        s,
        anchor(s),
        "The ferry is safe.",
        reviewer_id=ids[TeamRole.LEAD],
        expected_revision=1,
        insist=True,
    ),
    "retire an anchor": lambda s, ids: retire_anchor(s, anchor(s)),
    "release": lambda s, ids: freeze(s, name="", author_id=ids[TeamRole.LEAD]),
    "prompt": copied_prompt,
    "setting": lambda s, ids: put_setting(s, PRICES, {"a-model": None}),
    "add a person": lambda s, ids: ensure_reviewer(s, "Somebody new"),
    "rename": lambda s, ids: rename_person(s, ids[TeamRole.VIEWER], "Vic"),
    "merge": lambda s, ids: changes.merge(
        engine_of(s), person=ids[TeamRole.VIEWER], into=ids[TeamRole.REVIEWER]
    ),
    "role": lambda s, ids: set_role(s, ids[TeamRole.VIEWER], TeamRole.LEAD),
    "start a run": lambda s, ids: create_run(s, kind="measure", parameters={}),
    "cancel a run": lambda s, ids: request_cancel(s, ids["run"]),
}


@pytest.mark.parametrize("act", [*OF_REVIEWERS, *OF_LEADS])
def test_what_each_role_may_do(engine: Engine, people: Ids, act: str) -> None:
    do, before = (OF_REVIEWERS | OF_LEADS)[act], content(engine)
    ranks = [TeamRole.VIEWER, TeamRole.REVIEWER, TeamRole.LEAD]
    *refusing, allowed = ranks if act in OF_LEADS else ranks[:2]
    for role in refusing:
        for early in (True, False):  # or the role changes while a session is open
            if early:
                act_as(engine, people[role])
            with refuses(role), writing(engine) as session:
                act_as(engine, people[role])
                do(session, people)
            set_who_acts(None)
            assert content(engine) == before
    act_as(engine, people[allowed])
    Desk(engine).write(do, people)
    set_who_acts(None)
    assert content(engine) != before


@pytest.mark.slow
def test_every_write_function_refuses_a_viewer(
    engine: Engine, people: Ids, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All functions that write, found in the sources, so that new ones are included."""
    every = write_functions("curation", "training", "db")
    found = [
        one for one in every if one.name not in OF_RUNS | CONSEQUENCES and one.module != "db.engine"
    ]
    assert {"accept", "delete_run", "create_release"} <= {one.name for one in found}
    monkeypatch.chdir(home)
    act_as(engine, people[TeamRole.VIEWER])
    before = content(engine)
    for one in found:
        began: list[str] = []
        with refuses(TeamRole.VIEWER):
            if one.takes == "session":
                with writing(engine) as session:
                    began.append(one.name)
                    one.get()(session, **stand_ins(one.get()))
            else:
                one.get()(engine, **stand_ins(one.get()))
        assert not began
    assert content(engine) == before
    assert [path.name for path in home.iterdir() if not path.name.startswith("hedgerow.db")] == []


@pytest.mark.slow
def test_there_is_no_other_way_to_a_session() -> None:
    """Writing sessions only come from ``writing``, which checks the role of the acting person."""
    makers = re.compile(r"\bSession\(|sessionmaker\(|\braw_connection\(|execution_options\(writes")
    packages = ("curation", "training", "db", "hedgerow", "pages", "cli")
    sources = [path for name in packages for path in (ROOT / name).rglob("*.py")]
    there = {str(path.relative_to(ROOT)) for path in sources if makers.search(path.read_text())}
    assert there == {"db/engine.py", "db/migrate.py"}


def test_functions_that_open_sessions_themselves(engine: Engine, people: Ids, home: Any) -> None:
    settings = load_settings(home=home)
    for role in (TeamRole.VIEWER, TeamRole.REVIEWER):
        act_as(engine, people[role])
        for act in (
            lambda: cancel_run(engine, settings, people["run"]),
            lambda: delete_run(engine, settings, people["run"]),
            lambda: restore_backup(settings, home / "backup.zip", report=lambda *_: None),
            lambda: keep_data(settings.data_folder, "nevir", {"a.csv": b"x"}),
        ):
            with refuses(role):
                act()
        assert not (settings.data_folder / "benchmarks").exists()
    set_who_acts(None)
    assert not any(run.cancel_requested for run in Desk(engine).rows(Run))


@both_databases
@pytest.mark.parametrize("role", [TeamRole.VIEWER, TeamRole.REVIEWER])
def test_no_statement_changes_a_table_that_is_not_for_the_role(
    engine: Engine, people: Ids, role: TeamRole
) -> None:
    for name, table in SQLModel.metadata.tables.items():
        for statement in _changes(table):
            if role is TeamRole.REVIEWER and name in REVIEWER_TABLES:
                continue
            with refuses(role), writing(engine) as session:
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
        with refuses(role), writing(engine) as session:
            act_as(engine, people[role])
            session.execute(text(raw))
        set_who_acts(None)


def _changes(table: Table) -> list[Any]:
    first = next(iter(table.columns))
    added = insert(table).from_select([first], select(first), include_defaults=False)
    return [added, update(table).values({first: first}), delete(table)]


@both_databases
def test_a_common_table_expression_hides_no_change(engine: Engine, people: Ids) -> None:
    for role in (TeamRole.REVIEWER, TeamRole.VIEWER):
        act_as(engine, people[role])
        with reading(engine) as session:
            found = session.execute(text("WITH one AS (SELECT 1 AS n) SELECT n FROM one")).scalar()
            assert found == 1
            with refused():
                session.execute(text("WITH one AS (SELECT 1) DELETE FROM setting"))


def test_a_role_counts_from_the_next_write_on_but_not_for_the_project_itself(
    engine: Engine, people: Ids
) -> None:
    note = OF_REVIEWERS["note"]
    act_as(engine, people[TeamRole.REVIEWER])
    Desk(engine).write(note, people)
    set_who_acts(None)
    Desk(engine).write(set_role, people[TeamRole.REVIEWER], TeamRole.VIEWER)
    for who in (people[TeamRole.REVIEWER], TeamRole.VIEWER):  # or somebody who has to sign in first
        act_as(engine, who)
        with refuses(TeamRole.VIEWER):
            Desk(engine).write(note, people)
        with refuses(TeamRole.VIEWER):
            require(TeamRole.REVIEWER)
        with for_the_project():
            Desk(engine).write(note, people)


def test_the_last_lead_stays_one(engine: Engine, people: Ids) -> None:
    with writing(engine) as session:
        assert role_of(session, people[TeamRole.LEAD]) is TeamRole.LEAD
        with refused("'lead'"):
            set_role(session, people[TeamRole.LEAD], TeamRole.VIEWER)
        set_role(session, people[TeamRole.VIEWER], TeamRole.LEAD)
        set_role(session, people[TeamRole.LEAD], TeamRole.VIEWER)
        assert role_of(session, people[TeamRole.LEAD]) is not TeamRole.LEAD


def test_the_settings_decide_for_who_signs_in(engine: Engine, people: Ids) -> None:
    with writing(engine) as session:
        viewer = session.get_one(Reviewer, people[TeamRole.VIEWER])
        viewer.identity = "https://id.example subject"
        with refused("HEDGEROW_SIGN_IN_LEADS"):
            set_role(session, viewer.id, TeamRole.LEAD)
        assert viewer.role is TeamRole.VIEWER


# -- in the review page's windows --------------------------------------------------------------


def review(engine: Engine, people: Ids) -> ReviewState:
    """The reviewer's window."""
    who = people[TeamRole.REVIEWER]
    act_as(engine, who)
    state = ReviewState(engine=engine, reviewer_id=who, types=Desk(engine).read(list_types))
    state.recount()
    return state


def read(engine: Engine, people: Ids) -> ReadingState:
    """The viewer's window."""
    who = people[TeamRole.VIEWER]
    act_as(engine, who)
    return ReadingState(engine=engine, reviewer_id=who, types=Desk(engine).read(list_types))


def test_a_reviewer_decides_on_conflicts_without_settling_them(engine: Engine, people: Ids) -> None:
    Desk(engine).decide(people[TeamRole.LEAD], VERBAL, A)
    Desk(engine).decide(people[TeamRole.VIEWER], VERBAL, R)
    state = review(engine, people)
    state.queue = Queue.CONFLICT
    view = state.view()
    assert view.focus is not None and view.focus.variant.status is Status.CONFLICT
    shown = state.showings[VERBAL]
    assert not shown.settles
    state.drawn[shown.action_id] = 0.0
    state.accept(shown)
    assert state.view().focus is None  # it is still in conflict, and does not come back
    last = Desk(engine).rows(Decision)[-1]
    found = (last.reviewer_id, last.variant_id, last.adjudicates)
    assert found == (people[TeamRole.REVIEWER], VERBAL, False)


def test_a_viewer_reads_card_after_card_and_leaves_no_trace(engine: Engine, people: Ids) -> None:
    before = content(engine)
    state = read(engine, people)
    seen = []
    while (focus := state.view().focus) is not None:
        seen.append(focus.variant.id)
        state.go_on()
    assert len(seen) == len(set(seen)) == 6  # one of the seven is decided
    state.pin(people["lexical"])
    assert state.view().focus is not None
    state.leave()
    set_who_acts(None)
    assert content(engine) == before
    assert Desk(engine).read(on_other_screens, "another window") == {}
    assert Desk(engine).rows(ReviewPosition) == []


@pytest.mark.slow
@both_databases
def test_roles_hold_while_several_people_decide_on_each_variant(
    engine: Engine, people: Ids
) -> None:
    assign(engine, reviewers=2, share=1.0)
    Desk(engine).decide(people[TeamRole.LEAD], VERBAL)
    for by_family in (False, True):
        reader = read(engine, people)
        reader.by_family = by_family
        assert reader.view().focus is not None
    state = review(engine, people)
    decided = 0
    while (focus := state.view().focus) is not None:
        shown = state.showings[focus.variant.id]
        state.drawn[shown.action_id] = 0.0
        state.accept(shown)
        decided += 1
    assert decided == 6  # including the one that the lead has begun, without their own


def test_a_viewers_keys_decide_nothing(engine: Engine, people: Ids) -> None:
    """If a key of the review page ever reached the library, it would show this sentence."""
    before = content(engine)
    state = review(engine, people)
    act_as(engine, people[TeamRole.VIEWER])
    shown = Desk(engine).card(VERBAL)
    state.drawn[shown.action_id] = 0.0
    for press in (
        lambda: state.accept(shown),
        lambda: state.reject(shown, "wrong_scope"),
        lambda: state.edit(shown, text="The bridge isn't safe."),
        lambda: state.note(shown, "A note."),
        lambda: state.mark(shown, "Why?"),
    ):
        state.message = ""
        press()
        assert state.message.startswith(FACTS[TeamRole.VIEWER])
    set_who_acts(None)
    assert content(engine) == before
