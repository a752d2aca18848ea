"""What pages offer to reviewers and viewers. An incomplete sign-in opens nothing."""

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.review.assignment.planning import assign
from curation.review.people.roles import Role, is_lead, set_role, set_who_acts
from db.engine import reading, writing
from db.models import Decision, Lease, Reviewer, ReviewPosition, Run
from pages.components.shared.shell import open_project
from tests.pages.conftest import OpenPage
from tests.support.checkout import ROOT
from tests.support.factories import add_family, person


@pytest.fixture
def team(with_source: Engine) -> Engine:
    """Ada is a lead, Rob a reviewer and Vic a viewer."""
    with writing(with_source) as session:
        add_family(session)
        for name, role in {"Ada": Role.LEAD, "Rob": Role.REVIEWER, "Vic": Role.VIEWER}.items():
            set_role(session, session.get_one(Reviewer, person(session, name)), role)
    return with_source


@pytest.fixture(autouse=True)
def _nobody_acts_afterwards() -> object:
    yield
    set_who_acts(None)


def _as(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("HEDGEROW_REVIEWER", name)
    open_project.settings.clear()  # read once


def _said(app: AppTest) -> str:
    assert not app.exception
    return "\n".join(
        str(one.value) for one in (*app.caption, *app.text, *app.sidebar.caption, *app.sidebar.text)
    )


def _labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def test_a_viewer_reads_cards_and_leaves_no_trace(
    team: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as(monkeypatch, "Vic")
    app = open_page("review")
    assert "You are a viewer" in _said(app)
    assert "Next card" in _labels(app) and "Accept" not in _labels(app)
    app.button(key="s-key").click().run()
    assert not app.exception
    with reading(team) as session:
        for table in (Lease, ReviewPosition, Decision):
            assert session.execute(select(table)).first() is None


def test_the_sidebar_names_roles_other_than_lead(
    team: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as(monkeypatch, "Vic")
    shown = _said(open_page("overview"))
    assert "Your role: viewer" in shown and "Reading as Vic" in shown
    _as(monkeypatch, "Ada")
    shown = _said(open_page("overview"))
    assert "Your role" not in shown and "Reviewing as Ada" in shown


def test_a_blind_card_explains_to_a_viewer_what_it_hides(
    team: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(team) as session:
        assign(session, reviewers=2, share=1)
    _as(monkeypatch, "Vic")
    app = open_page("review")
    app.button(key="g-key").click().run()
    shown = _said(app)
    assert "Hidden, because this variant is reviewed blind." in shown
    assert "until you have decided" not in shown


PAGES = {
    "generate": "Only leads can start runs.",
    "anchors": "Only leads can add anchors.",
    "benchmarks": "Only leads can start benchmark runs.",
    "train": "Only leads can start training runs.",
    "settings": "Only leads can change these settings.",
    "adjudicate": "Only leads can settle conflicts.",
}


@pytest.mark.parametrize("name", ["Rob", "Vic"])
@pytest.mark.parametrize("page", [*PAGES, "overview", "compare", "diagnostics", "release", "team"])
def test_no_page_fails_for_people_who_cannot_change_it(
    team: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, page: str, name: str
) -> None:
    _as(monkeypatch, name)
    app = open_page(page)
    shown = _said(app)
    assert PAGES.get(page, "") in shown
    assert "This page failed" not in shown and "Only a lead can" not in shown
    with reading(team) as session:
        assert session.execute(select(Run)).first() is None, "opening a page starts a run"


@pytest.mark.parametrize("name", ["Rob", "Vic"])
def test_only_leads_are_offered_the_assignment(
    team: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _as(monkeypatch, name)
    app = open_page("team")
    app.session_state["show"] = "Assignment"
    shown = _said(app.run())
    assert "Only leads can change the assignment." in shown
    assert "Only leads can change quotas." in shown
    assert not {"Save", "Set quota", "Remove quota"} & set(_labels(app))


def test_a_reviewer_decides(
    team: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as(monkeypatch, "Rob")
    monkeypatch.setattr("curation.review.browser_window.key_actions.MIN_SHOWN_SECONDS", 0)
    app = open_page("review")
    next(button for button in app.button if button.label == "Accept").click().run()
    assert not app.exception
    with reading(team) as session:
        rob = select(col(Reviewer.id)).where(col(Reviewer.name) == "Rob").scalar_subquery()
        assert session.execute(select(Decision).where(col(Decision.reviewer_id) == rob)).one()


def test_a_lead_gives_roles_but_keeps_the_last(
    team: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as(monkeypatch, "Ada")
    app = open_page("settings")
    with reading(team) as session:
        ids = {one.name: one.id for one in session.execute(select(Reviewer)).scalars()}

    def refused() -> list[str]:
        return [str(text.value) for text in app.text if "last lead" in str(text.value)]

    def give(name: str, role: Role) -> str:
        app.selectbox(key="person").select(ids[name]).run()
        control = next(c for c in app.segmented_control if c.label == "Role")
        control.set_value(role).run()
        shown = next(c for c in app.segmented_control if c.label == "Role") if refused() else None
        assert shown is None or shown.value == Role.LEAD, "it shows what is stored"
        return _said(app) + "".join(refused())

    assert "'Ada' is the last lead" in give("Ada", Role.VIEWER)
    assert "Vic is now a lead." in give("Vic", Role.LEAD)
    assert "Ada is now a reviewer." in give("Ada", Role.REVIEWER)
    with reading(team) as session:
        assert is_lead(session, ids["Vic"]) and not is_lead(session, ids["Ada"])
    assert "Only leads can add or edit people." in _said(app.run())


def test_without_a_provider_the_names_of_leads_open_nothing(
    team: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_SIGN_IN_LEADS", "ana@uni.example")
    open_project.settings.clear()  # read once
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert ".streamlit/secrets.toml has no section [auth]" in _said(app)
    assert not app.title and not app.dataframe
