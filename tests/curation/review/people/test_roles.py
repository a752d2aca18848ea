"""Roles: changes that a viewer or a reviewer may not make are refused in every function."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Table, delete, insert, select, text, update
from sqlalchemy.orm import Session
from sqlmodel import SQLModel, col

from curation.anchors.attributes import set_facts
from curation.anchors.changes import correct_anchor, retire_anchor
from curation.generation.costs.prices import set_price
from curation.generation.prompts import save_copy, seed_prompts
from curation.generation.request import Price
from curation.project.opening import PRICES, put_setting
from curation.project.shared_settings import change_threshold
from curation.release.freezing import create_release
from curation.review import actions
from curation.review.assignment.planning import assign
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.reading import ReadingState
from curation.review.bulk import apply_rule, parse_rule
from curation.review.discussing import mark
from curation.review.leases import on_other_screens
from curation.review.notes import add_note
from curation.review.people.merging import merge
from curation.review.people.reviewers import ensure_reviewer, rename_person
from curation.review.people.roles import (
    REVIEWER_TABLES,
    Role,
    for_the_project,
    guard,
    is_lead,
    require,
    set_role,
    set_who_acts,
)
from curation.review.queue import Queue
from curation.review.undo import undo
from curation.taxonomy.project_types import list_types
from curation.upkeep.restoring import restore_backup
from curation.variants.own import write_variant
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Anchor, Decision, Reviewer, ReviewPosition, Run, Status, Variant, Verdict
from db.runs import create_run, request_cancel
from tests.support.checkout import ROOT
from tests.support.databases import Fill, both_databases, one_database
from tests.support.factories import add_family, person
from tests.support.write_functions import stand_ins, write_functions
from training.benchmarks.data.sources import keep_data
from training.evaluation.probe_sets import Pasted, create_set
from training.evaluation.probes import add_own_probe
from training.runs.cancelling import cancel_run
from training.runs.removal import delete_run

pytestmark = both_databases

VIEWER, REVIEWER = "You are a viewer", "Only a lead can do this"

Ids = dict[str, int]


def _refused(role: Role) -> Any:
    return pytest.raises(HedgerowError, match=VIEWER if role is Role.VIEWER else REVIEWER)


@pytest.fixture
def people(engine: Engine, fill: Fill) -> Iterator[Ids]:
    """The ids of a lead, a reviewer and a viewer, of a variant of each type, and of a run."""

    def made(session: Session) -> Ids:
        ids = {key: variant.id for key, variant in add_family(session).items()}
        ids |= {role: person(session, role) for role in Role}
        for role in Role:
            set_role(session, session.get_one(Reviewer, ids[role]), role)
        seed_prompts(session)
        variant = session.get_one(Variant, ids["lexical"])
        actions.accept(session, actions.shown(variant), reviewer_id=ids[Role.REVIEWER])
        ids["run"] = create_run(session, kind="measure", parameters={}).id
        return ids

    ids = fill(engine, made)
    guard(engine)
    yield ids
    set_who_acts(None)


def _act_as(engine: Engine, who: int | Role) -> None:
    set_who_acts(lambda: who, engine)


def _content(engine: Engine) -> dict[str, list[Any]]:
    with reading(engine) as session:
        return {
            name: session.execute(select(table).order_by(*table.primary_key)).all()
            for name, table in SQLModel.metadata.tables.items()
        }


def _shown(session: Session, ids: Ids) -> actions.ShownCard:
    return actions.shown(session.get_one(Variant, ids["verbal"]))


def _person(session: Session, ids: Ids, role: Role) -> Reviewer:
    return session.get_one(Reviewer, ids[role])


def _prompt(session: Session) -> Any:
    from curation.generation.prompts import prompt_versions

    return prompt_versions(session, "negation")[0]


OF_RUNS = {"store_cosines", "require_success", "execute"}
"""Only a run's own process calls these, after it has computed something."""

Act = Callable[[Session, Ids], Any]

OF_REVIEWERS: dict[str, Act] = {
    "accept": lambda s, ids: actions.accept(s, _shown(s, ids), reviewer_id=ids[Role.REVIEWER]),
    "reject": lambda s, ids: actions.reject(
        s, _shown(s, ids), reviewer_id=ids[Role.REVIEWER], reason="wrong_scope"
    ),
    "reject a family": lambda s, ids: actions.reject_family(
        s, _shown(s, ids), reviewer_id=ids[Role.REVIEWER]
    ),
    "edit": lambda s, ids: actions.edit(
        s, _shown(s, ids), reviewer_id=ids[Role.REVIEWER], text="The bridge isn't safe."
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
        _act_as(engine, people[role])
        before = _content(engine)
        with _refused(role), writing(engine) as session:
            do(session, people)
        assert _content(engine) == before
        # The same holds for a session that was opened while the role was another one.
        set_who_acts(None)
        with _refused(role), writing(engine) as session:
            _act_as(engine, people[role])
            do(session, people)
        assert _content(engine) == before
    allowed = Role.REVIEWER if act in OF_REVIEWERS else Role.LEAD
    _act_as(engine, people[allowed])
    before = _content(engine)
    with writing(engine) as session:
        do(session, people)
    set_who_acts(None)
    assert _content(engine) != before


@one_database
def test_every_write_function_refuses_a_viewer(
    engine: Engine, people: Ids, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All functions that write, found in the sources, so that new ones are included."""
    every = write_functions("curation", "training", "db")
    found = [one for one in every if one.name not in OF_RUNS and one.module != "db.engine"]
    assert {"accept", "delete_run", "create_release"} <= {one.name for one in found}
    monkeypatch.chdir(home)
    _act_as(engine, people[Role.VIEWER])
    before = _content(engine)
    for one in found:
        began: list[str] = []
        with _refused(Role.VIEWER):
            if one.takes == "session":
                with writing(engine) as session:
                    began.append(one.name)
                    one.get()(session, **stand_ins(one.get()))
            else:
                one.get()(engine, **stand_ins(one.get()))
        assert not began
    assert _content(engine) == before
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
        _act_as(engine, people[role])
        with _refused(role):
            cancel_run(engine, settings, people["run"])
        with _refused(role):
            delete_run(engine, settings, people["run"])
        with _refused(role):
            restore_backup(settings, home / "backup.zip", report=lambda *_: None)
        with _refused(role):
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
            with _refused(role), writing(engine) as session:
                _act_as(engine, people[role])
                session.connection().execute(statement)
            set_who_acts(None)
    for raw in (
        "CREATE TABLE theirs (id INTEGER)",
        "DROP TABLE setting",
        '  delete from "setting"',
        "WITH gone AS (SELECT 1) DELETE FROM setting",
        "REPLACE INTO setting (key) VALUES ('x')",
    ):
        with _refused(role), writing(engine) as session:
            _act_as(engine, people[role])
            session.execute(text(raw))
        set_who_acts(None)


def _changes(table: Table) -> list[Any]:
    first = next(iter(table.columns))
    added = insert(table).from_select([first], select(first), include_defaults=False)
    return [added, update(table).values({first: first}), delete(table)]


def test_a_role_counts_from_the_next_write_on(engine: Engine, people: Ids) -> None:
    _act_as(engine, people[Role.REVIEWER])
    with writing(engine) as session:
        OF_REVIEWERS["note"](session, people)
    set_who_acts(None)
    with writing(engine) as session:
        set_role(session, _person(session, people, Role.REVIEWER), Role.VIEWER)
    _act_as(engine, people[Role.REVIEWER])
    with _refused(Role.VIEWER), writing(engine) as session:
        OF_REVIEWERS["note"](session, people)


@one_database
def test_consequences_for_the_project_need_no_role(engine: Engine, people: Ids) -> None:
    _act_as(engine, people[Role.VIEWER])
    with for_the_project(), writing(engine) as session:
        ensure_reviewer(session, "Somebody new")
    with _refused(Role.VIEWER):
        require(Role.REVIEWER)


@one_database
def test_nobody_who_has_to_sign_in_first_may_write(engine: Engine, people: Ids) -> None:
    _act_as(engine, Role.VIEWER)
    with _refused(Role.VIEWER), writing(engine) as session:
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


def test_a_reviewer_decides_on_conflicts_without_settling_them(engine: Engine, people: Ids) -> None:
    with writing(engine) as session:
        for who, verdict in ((Role.LEAD, actions.accept), (Role.VIEWER, actions.reject)):
            more = {"reason": "wrong_scope"} if verdict is actions.reject else {}
            verdict(session, _shown(session, people), reviewer_id=people[who], **more)
    _act_as(engine, people[Role.REVIEWER])
    state = ReviewState(engine=engine, reviewer_id=people[Role.REVIEWER], types=_types(engine))
    state.recount()
    state.queue = Queue.CONFLICT
    view = state.view()
    assert view.focus is not None and view.focus.variant.status is Status.CONFLICT
    shown = state.showings[people["verbal"]]
    assert not shown.settles
    state.drawn[shown.action_id] = 0.0
    state.accept(shown)
    assert state.view().focus is None  # it is still in conflict, and does not come back
    with reading(engine) as session:
        mine = select(Decision).where(col(Decision.reviewer_id) == people[Role.REVIEWER])
        last = session.execute(mine.order_by(col(Decision.id).desc())).scalars().first()
    assert last is not None and last.variant_id == people["verbal"] and not last.adjudicates


def _types(engine: Engine) -> list[Any]:
    with reading(engine) as session:
        return list_types(session)


def test_a_viewer_reads_card_after_card_and_leaves_no_trace(engine: Engine, people: Ids) -> None:
    before = _content(engine)
    _act_as(engine, people[Role.VIEWER])
    state = ReadingState(engine=engine, reviewer_id=people[Role.VIEWER], types=_types(engine))
    seen = []
    while (focus := state.view().focus) is not None:
        seen.append(focus.variant.id)
        state.go_on()
    assert len(seen) == len(set(seen)) == 6  # one of the seven is decided
    state.pin(people["lexical"])
    assert state.view().focus is not None
    state.leave()
    set_who_acts(None)
    assert _content(engine) == before
    with reading(engine) as session:
        assert on_other_screens(session, "another window") == {}
        assert session.execute(select(ReviewPosition)).first() is None


def test_roles_hold_while_several_people_decide_on_each_variant(
    engine: Engine, people: Ids
) -> None:
    with writing(engine) as session:
        assign(session, reviewers=2, share=1.0)
        actions.accept(session, _shown(session, people), reviewer_id=people[Role.LEAD])
    _act_as(engine, people[Role.VIEWER])
    for by_family in (False, True):
        reader = ReadingState(engine=engine, reviewer_id=people[Role.VIEWER], types=_types(engine))
        reader.by_family = by_family
        assert reader.view().focus is not None
    _act_as(engine, people[Role.REVIEWER])
    state = ReviewState(engine=engine, reviewer_id=people[Role.REVIEWER], types=_types(engine))
    state.recount()
    decided = 0
    while (focus := state.view().focus) is not None:
        shown = state.showings[focus.variant.id]
        state.drawn[shown.action_id] = 0.0
        state.accept(shown)
        decided += 1
    assert decided == 6  # including the one that the lead has begun, without their own


def test_a_common_table_expression_hides_no_change(engine: Engine, people: Ids) -> None:
    for role in (Role.REVIEWER, Role.VIEWER):
        _act_as(engine, people[role])
        with reading(engine) as session:
            found = session.execute(text("WITH one AS (SELECT 1 AS n) SELECT n FROM one")).scalar()
            assert found == 1
            with pytest.raises(HedgerowError):
                session.execute(text("WITH one AS (SELECT 1) DELETE FROM setting"))


def test_a_viewers_keys_decide_nothing(engine: Engine, people: Ids) -> None:
    """If a key of the review page ever reached the library, it would show this sentence."""
    before = _content(engine)
    _act_as(engine, people[Role.VIEWER])
    state = ReviewState(engine=engine, reviewer_id=people[Role.VIEWER], types=_types(engine))
    with reading(engine) as session:
        shown = _shown(session, people)
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
        assert state.message.startswith(VIEWER)
    set_who_acts(None)
    assert _content(engine) == before
