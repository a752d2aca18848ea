"""Signing in and roles: what pages offer to reviewers and viewers, and to nobody."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.corpora.corpus import STARTER
from curation.review.assignment.planning import assign
from curation.review.people.reviewers import people
from curation.review.people.roles import Role, is_lead, set_role, set_who_acts
from db.engine import reading, writing
from db.models import Decision, Lease, Reviewer, ReviewPosition, Run
from pages.components.shared.shell import open_project
from pages.components.shared.shell.open_project import ask, tell
from tests.pages.conftest import OpenPage, Wording
from tests.support.factories import add_family, person

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
        for name, role in zip(ids, (Role.LEAD, Role.REVIEWER, Role.VIEWER), strict=True):
            set_role(session, session.get_one(Reviewer, ids[name]), role)
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
    tell(assign, reviewers=2, share=1)  # reviewed blind
    _as(monkeypatch, "Vic")
    app = open_page("review")
    assert [caption.value.rpartition(" ")[2] for caption in app.sidebar.caption] == [Role.VIEWER]
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

    def give(name: str, role: Role) -> Role:
        app.selectbox(key="person").select(team[name]).run()
        next(c for c in app.segmented_control if c.label == "Role").set_value(role).run()
        assert not app.exception
        controls = [c.value for c in app.segmented_control if c.label == "Role"]
        with reading(app_engine) as session:
            stored = session.get_one(Reviewer, team[name]).role
        assert controls in ([stored], []), "it shows what is stored"
        return stored

    assert give("Ada", Role.VIEWER) == Role.LEAD
    assert [text.value for text in app.text if "'Ada'" in text.value], "it says why"
    assert give("Vic", Role.LEAD) == Role.LEAD and give("Ada", Role.REVIEWER) == Role.REVIEWER
    assert ask(is_lead, team["Vic"]) and not ask(is_lead, team["Ada"]) and NOTE in _said(app.run())


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
