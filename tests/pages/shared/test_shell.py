"""What every page shares: one sentence instead of a failure, counts that are cached until the data
changes, and signing in with a role."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session
from sqlmodel import col
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest

from curation.corpora.corpus import STARTER
from curation.decisions.assignment_progress import assign
from curation.decisions.reviewers import is_person, people
from curation.decisions.roles import role_of, set_role, set_who_acts
from db import engine as db_engine
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    Decision,
    Lease,
    Reviewer,
    ReviewerKind,
    ReviewPosition,
    Run,
    TeamRole,
    Variant,
)
from pages.components.shared.shell import count_cache, open_project
from pages.components.shared.shell.count_cache import CachedCounts
from pages.components.shared.shell.open_project import ask, tell
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import TIMEOUT, page_text
from tests.support.checkout import ROOT
from tests.support.factories import add_family, person

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
HOSTILE = "<img src=x onerror=alert(1)> **bold**"
FAILURES: list[tuple[Exception, str]] = [
    (HedgerowError(f"Expected a bridge, found {HOSTILE}."), f"found {HOSTILE}."),
    (RuntimeError(HOSTILE), "(RuntimeError)"),
    (ImportError("cannot import name 'x'", name="curation.new"), "(curation.new)"),
    (DatabaseError("SELECT 1", {}, BaseException("x")), "(DatabaseError)"),
]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception | None], None]:
    """Makes every use of the database fail, until it is called with None."""
    works = db_engine.Session

    def breaks(error: Exception | None) -> None:
        def fail(*_: Any, **__: Any) -> Any:
            raise error  # type: ignore[misc]

        monkeypatch.setattr(db_engine, "Session", works if error is None else fail)

    return breaks


@pytest.fixture
def through_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs every page through app.py, as the server does. AppTest runs a page's file alone."""

    def run_app(main_script_path: str) -> None:
        code = compile(Path(main_script_path).read_text("utf-8"), main_script_path, "exec")
        exec(code, {"__name__": "__main__"})  # noqa: S102 (our own file)

    monkeypatch.setattr(script_runner, "_mpa_v1", run_app)


def retry(app: AppTest) -> list[str]:
    """The keys of the buttons that try again."""
    return [str(one.key) for one in app.button if str(one.key).startswith("try-again")]


@pytest.mark.parametrize("name", PAGES)
def test_a_failing_page_says_so_and_recovers(
    name: str,
    open_page: OpenPage,
    broken: Callable[[Exception | None], None],
    through_app: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")
    app = open_page(name)
    assert not retry(app)
    for error, fact in FAILURES if name == "overview" else FAILURES[:1]:
        broken(error)
        app.run()
        assert fact in page_text(app) and "bold" not in unsafe_texts(app)
        assert app.title and [text.value for text in app.sidebar.text if "Ada" in text.value]
    broken(None)
    app.button(key=retry(app)[0]).click().run()
    assert not retry(app) and fact not in page_text(app)


def test_a_project_that_cannot_be_opened_says_so_and_opens_later(
    home: Path, open_page: OpenPage, through_app: None
) -> None:
    (home / "hedgerow.db").write_text("Dear all, " * 100)
    app = open_page("overview")
    assert "hedgerow.db" in page_text(app)
    (home / "hedgerow.db").unlink()
    app.button(key="try-again-page").click().run()
    assert app.title and not retry(app)


def test_neither_a_failing_change_nor_a_question_stores_anything(app_engine: Engine) -> None:
    def fail(session: Session) -> None:
        person(session)
        raise HedgerowError("No room.")

    with pytest.raises(HedgerowError):
        open_project.tell(fail)
    ada = Reviewer(name="Ada", key="ada", kind=ReviewerKind.PERSON)
    open_project.ask(lambda session: session.add(ada))
    assert not open_project.ask(is_person, "Ada") and open_project.tell(person, "Ada")
    assert open_project.ask(is_person, "Ada")


def _page_with_callbacks() -> None:
    import streamlit as st

    from db.errors import HedgerowError
    from pages.components.shared.shell import error_messages

    def fail() -> None:
        raise HedgerowError("No **room**.")

    def err() -> None:
        raise KeyError("secret text")

    error_messages.guard_callbacks()
    error_messages.show_callback_errors()
    st.button("Fail", key="fail", on_click=fail)
    st.button("Err", key="err", on_click=err)

    @error_messages.fragment
    def part() -> None:
        st.button("Part", key="part")
        if st.session_state.get("part"):
            raise ValueError("x")
        st.text("part")

    part()
    st.text("page")


def test_a_failing_callback_or_part_is_reported_once_and_keeps_the_page() -> None:
    app = AppTest.from_function(_page_with_callbacks, default_timeout=TIMEOUT).run()
    app.button(key="fail").click().run()
    assert page_text(app).splitlines() == ["No **room**.", "part", "page"]
    app.button(key="err").click().run()
    error, *rest = page_text(app).splitlines()
    assert "(KeyError)" in error and "secret" not in error and rest == ["part", "page"]
    app.button(key="part").click().run()
    error, *rest = page_text(app).splitlines()
    assert "(ValueError)" in error and rest == ["page"]
    app.button(key=retry(app)[0]).click().run()
    assert page_text(app).splitlines() == ["part", "page"]


calls: list[str] = []
gate = threading.Event()


def variants(session: Session, label: str = "") -> int:
    calls.append(label)
    return session.execute(select(func.count()).select_from(Variant)).scalar_one()


def held_up(session: Session) -> int:
    gate.wait(timeout=20)
    return variants(session)


def failing(session: Session) -> int:
    raise LookupError("no such count")


@pytest.fixture
def grown(with_source: Engine) -> Iterator[Engine]:
    calls.clear()
    gate.clear()
    grow(with_source, 1)
    yield with_source
    gate.set()


@pytest.fixture
def large(grown: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(count_cache, "AT_ONCE", 0)
    return grown


def grow(engine: Engine, number: int) -> None:
    with writing(engine) as session:
        add_family(session, f"Bridge {number} is safe.")


def settle() -> None:
    """Wait for the counts in progress."""
    for making in list(count_cache._store()._making.values()):
        making.exception(timeout=20)


def test_the_same_data_is_counted_only_once(grown: Engine) -> None:
    counts = CachedCounts()
    assert not counts.empty
    assert (counts.get(variants), counts.get(variants), CachedCounts().get(variants)) == (7, 7, 7)
    assert calls == [""] and counts.get(variants, label="other") == 7
    assert calls == ["", "other"]
    grow(grown, 2)
    assert CachedCounts().get(variants) == 14 and not counts.waiting


def test_a_project_without_variants_is_empty(app_engine: Engine) -> None:
    assert CachedCounts().empty


def test_a_large_project_is_counted_in_the_background(large: Engine) -> None:
    counts = CachedCounts()
    assert counts.get(held_up) is None and counts.waiting
    assert CachedCounts().get(held_up) is None  # not started a second time
    gate.set()
    settle()
    later = CachedCounts()
    assert (later.get(held_up), later.waiting, calls) == (7, False, [""])


def test_an_outdated_count_is_shown_until_the_new_one_is_ready(
    large: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    CachedCounts().get(variants)
    settle()
    grow(large, 2)
    assert CachedCounts().get(variants) == 7  # a minute old at most
    assert len(calls) == 1
    monkeypatch.setattr(count_cache, "FRESH_SECONDS", 0.0)
    counts = CachedCounts()
    assert (counts.get(variants), counts.waiting) == (7, True)
    settle()
    assert CachedCounts().get(variants) == 14


def test_after_your_own_change_no_outdated_count_is_shown(large: Engine) -> None:
    CachedCounts().get(variants)
    settle()
    grow(large, 2)
    count_cache.forget()
    assert CachedCounts().get(variants) is None
    settle()
    assert CachedCounts().get(variants) == 14
    # Nor is one kept that started before the change.
    CachedCounts().get(held_up)
    begun = list(count_cache._store()._making.values())
    count_cache.forget()
    gate.set()
    for making in begun:
        making.result(timeout=20)
    assert CachedCounts().get(held_up) is None


def test_the_page_reports_errors_of_the_count(large: Engine) -> None:
    CachedCounts().get(failing)
    settle()
    with pytest.raises(LookupError):
        CachedCounts().get(failing)
    assert CachedCounts().get(failing) is None  # and tried again


def test_the_least_recently_used_count_is_dropped_first(
    grown: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_cache, "KEPT", 2)
    counts = CachedCounts()
    for label in ("a", "b", "a", "c", "a", "b"):
        counts.get(variants, label=label)
    assert calls == ["a", "b", "c", "b"]


FOR_LEADS = ("generate", "anchors", "benchmarks", "train", "settings", "adjudicate")
"""Pages with parts that only leads see; others read a sentence that says so."""
NOTE = "Only leads can"


@pytest.fixture
def reviewed(with_source: Engine) -> Engine:
    """A project in which Ada reviews."""
    tell(add_family)
    tell(person, "Ada")
    return with_source


@pytest.fixture
def team(reviewed: Engine) -> Iterator[dict[str, int]]:
    """The ids of a lead, a reviewer and a viewer."""
    with writing(reviewed) as session:
        ids = {name: person(session, name) for name in ("Ada", "Rob", "Vic")}
        for name, role in zip(
            ids, (TeamRole.LEAD, TeamRole.REVIEWER, TeamRole.VIEWER), strict=True
        ):
            set_role(session, ids[name], role)
    yield ids
    set_who_acts(None)


@pytest.fixture
def reserved_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Request this fixture first, because settings are read once."""
    monkeypatch.setenv("HEDGEROW_REVIEWER", STARTER.reviewer)


def _as(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("HEDGEROW_REVIEWER", name)
    open_project.settings.clear()  # read once


def _said(app: AppTest) -> str:
    assert not app.exception
    return "\n".join(
        str(one.value) for one in (*app.caption, *app.text, *app.sidebar.caption, *app.sidebar.text)
    )


def _names(engine: Engine) -> list[str]:
    return [one.name for one in ask(people)]


def _named(app: AppTest, name: str) -> AppTest:
    app.text_input[0].input(name)
    return app.button[0].click().run()


def test_a_viewer_reads_cards_and_leaves_no_trace(
    team: dict[str, int],
    app_engine: Engine,
    open_page: OpenPage,
    monkeypatch: pytest.MonkeyPatch,
    wording: Wording,
) -> None:
    assign(app_engine, reviewers=2, share=1)  # reviewed blind
    _as(monkeypatch, "Vic")
    app = open_page("review")
    assert [caption.value.rpartition(" ")[2] for caption in app.sidebar.caption] == [
        TeamRole.VIEWER
    ]
    assert "Accept" not in [button.label for button in app.button]
    app.button(key="g-key").click().run()
    wording(app, "roles", "a viewer at a blind card")
    app.button(key="s-key").click().run()
    with reading(app_engine) as session:
        for table in (Lease, ReviewPosition, Decision):
            assert session.execute(select(table)).first() is None


@pytest.mark.parametrize(
    ("name", "pages"),
    [
        ("Rob", FOR_LEADS),
        ("Vic", (*FOR_LEADS, "overview", "compare", "diagnostics", "release", "team")),
    ],
    ids=["reviewer", "viewer"],
)
def test_no_page_fails_for_people_who_cannot_change_it(
    team: dict[str, int],
    app_engine: Engine,
    open_page: OpenPage,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    pages: tuple[str, ...],
) -> None:
    _as(monkeypatch, name)
    for page in pages:
        app = open_page(page)
        assert page not in FOR_LEADS or NOTE in _said(app), page
        assert not [one for one in app.button if str(one.key).startswith("try-again")], page
    app = open_page("team")
    app.session_state["show"] = "Assignment"
    assert _said(app.run()).count(NOTE) == 2, "the assignment and quotas"
    assert not {"Save", "Set quota", "Remove quota"} & {button.label for button in app.button}
    with reading(app_engine) as session:
        assert session.execute(select(Run)).first() is None, "opening a page starts a run"


def test_a_reviewer_decides(
    team: dict[str, int], app_engine: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as(monkeypatch, "Rob")
    monkeypatch.setattr("curation.review.browser_window.key_actions.MIN_SHOWN_SECONDS", 0)
    app = open_page("review")
    next(button for button in app.button if button.label == "Accept").click().run()
    assert not app.exception
    with reading(app_engine) as session:
        by_rob = col(Decision.reviewer_id) == team["Rob"]
        assert session.execute(select(Decision).where(by_rob)).one()


def test_a_lead_gives_roles_but_keeps_the_last(
    team: dict[str, int], app_engine: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as(monkeypatch, "Ada")
    app = open_page("settings")
    assert not app.sidebar.caption, "only other roles are named there"

    def give(name: str, role: TeamRole) -> TeamRole:
        app.selectbox(key="person").select(team[name]).run()
        next(c for c in app.segmented_control if c.label == "Role").set_value(role).run()
        assert not app.exception
        controls = [c.value for c in app.segmented_control if c.label == "Role"]
        with reading(app_engine) as session:
            stored = session.get_one(Reviewer, team[name]).role
        assert controls in ([stored], []), "it shows what is stored"
        return stored

    assert give("Ada", TeamRole.VIEWER) == TeamRole.LEAD
    assert [text.value for text in app.text if "'Ada'" in text.value], "it says why"
    assert (
        give("Vic", TeamRole.LEAD) == TeamRole.LEAD
        and give("Ada", TeamRole.REVIEWER) == TeamRole.REVIEWER
    )
    assert [ask(role_of, team[name]) is TeamRole.LEAD for name in ("Vic", "Ada")] == [True, False]
    assert NOTE in _said(app.run())


def test_without_a_provider_the_names_of_leads_open_nothing(
    team: dict[str, int], open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_SIGN_IN_LEADS", "ana@uni.example")
    open_project.settings.clear()  # read once
    app = open_page("overview")
    assert "[auth]" in _said(app) and not app.title and not app.dataframe


def test_one_person_signs_in_with_all_spellings_and_nobody_with_a_reserved_name(
    reviewed: Engine, open_page: OpenPage
) -> None:
    app = _named(open_page("review"), STARTER.reviewer)
    assert f"'{STARTER.reviewer}'" in _said(app) and "reviewer_name" not in app.session_state
    app = _named(open_page("review"), " ADA")
    assert app.session_state["reviewer_name"] == "Ada" and not app.exception
    assert _names(reviewed) == ["Ada"]


def test_a_reserved_name_in_the_settings_is_refused(
    reserved_setting: None, reviewed: Engine, open_page: OpenPage
) -> None:
    app = open_page("overview")
    assert f"'{STARTER.reviewer}'" in _said(app) and "reviewer_name" not in app.session_state
    assert _names(reviewed) == ["Ada"]
