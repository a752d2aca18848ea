"""The second opinion on the review page: on request, and never before a blind verdict."""

import re
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.anchors.changes import correct_anchor
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.queue_position import Panel
from curation.review.queue import Order
from db.engine import reading, writing
from db.models import OpinionLook, Status, Variant, Verdict
from pages.components.review.panels import second_opinion
from pages.components.shared.shell import open_project
from tests.pages.conftest import ROOT, TIMEOUT, unsafe_texts
from tests.support.factories import add_family, add_opinion, judge, person
from tests.support.reviewing import draw, status

HOSTILE = "**Not** <img src=x onerror=alert(1)> $x$ safe."


@pytest.fixture
def state(state: ReviewState, monkeypatch: pytest.MonkeyPatch) -> ReviewState:
    """As usual, in the database that the page reads."""
    monkeypatch.setattr(open_project, "engine", lambda: state.engine)
    return state


def give(state: ReviewState, verdict: Verdict, suggestion: str = "") -> int:
    """An opinion on the first verbal variant. Returns its id."""
    with writing(state.engine) as session:
        query = select(Variant).where(col(Variant.type_id) == "verbal").order_by(col(Variant.id))
        variant = session.execute(query).scalars().first()
        assert variant is not None
        add_opinion(session, variant, verdict, reviewer_id=judge(session), suggestion=suggestion)
        return variant.id


def looks(state: ReviewState) -> list[int]:
    with reading(state.engine) as session:
        return list(session.execute(select(col(OpinionLook.variant_id))).scalars())


def test_it_is_shown_on_request_and_the_view_is_recorded(state: ReviewState) -> None:
    number = give(state, Verdict.REJECT)
    card = draw(state)
    assert card.variant_id == number and looks(state) == []
    second_opinion.ask(state, card)
    assert state.panel is Panel.OPINION and looks(state) == [number]
    assert [o.verdict for o in state.opinions] == [Verdict.REJECT]
    second_opinion.ask(state, card)
    assert state.panel is Panel.NONE
    second_opinion.ask(state, card)
    state.accept(draw(state))
    assert state.panel is Panel.NONE and status(state, number) is Status.ACCEPTED
    assert "judge" not in state.message


def test_a_blind_reviewer_decides_first(state: ReviewState) -> None:
    number = give(state, Verdict.REJECT)
    state.blind = True
    state.pin(number)
    second_opinion.ask(state, draw(state))
    assert "after you have decided" in state.message
    assert state.panel is Panel.NONE and looks(state) == []
    state.accept(draw(state))
    assert "judge" not in state.message
    state.pin(number)
    second_opinion.ask(state, draw(state))
    assert state.panel is Panel.OPINION and looks(state) == [number]


def test_blind_mode_does_not_order_by_doubt(state: ReviewState) -> None:
    with writing(state.engine) as session:
        for variant in session.execute(select(Variant)).scalars():
            variant.doubt = variant.id / 100
            variant.random_key = variant.id % 10 / 10
    state.order = Order.DOUBTFUL
    doubtful = draw(state).variant_id
    state.restart()
    state.blind = True
    blind = draw(state).variant_id
    state.restart()
    state.order = Order.RANDOM
    assert draw(state).variant_id == blind != doubtful


def test_a_suggestion_is_an_edit_only_once_it_is_saved(state: ReviewState) -> None:
    number = give(state, Verdict.EDIT, "The bridge isn't safe.")
    card = draw(state)
    second_opinion.ask(state, card)
    state.edit_from(state.opinions[0])
    assert state.panel is Panel.EDIT and state.suggested is not None
    assert status(state, number) is Status.PENDING
    state.toggle(Panel.EDIT)
    assert state.suggested is None
    state.edit(card, text="The bridge isn't safe.", type_id="verbal", cue=None, note="")
    assert status(state, number) is Status.SUPERSEDED


@pytest.fixture
def signed_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ada is signed in by the settings."""
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")


@pytest.fixture
def judged(signed_in: None, with_source: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Two families. A model would edit the second one's verbal variant to a hostile text."""
    monkeypatch.setattr("curation.review.browser_window.key_actions.MIN_SHOWN_SECONDS", 0.0)
    with writing(with_source) as session:
        person(session)
        add_family(session)
        variant = add_family(session, "The road is safe.", subject="road")["verbal"]
        add_opinion(
            session,
            variant,
            Verdict.EDIT,
            reviewer_id=judge(session, HOSTILE),
            suggestion=HOSTILE,
        )
    return with_source


def page() -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    return app.switch_page("pages/review.py").run()


def pressed(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception
    return app


def html(app: AppTest) -> str:
    return "\n".join(str(element.value) for element in app.get("html"))


def test_the_page_shows_it_on_demand_and_opens_the_editor_with_the_suggestion(
    judged: Engine,
) -> None:
    app = page()
    assert "Doubtful" in next(e for e in app.get("button_group") if e.key == "order").options
    with reading(judged) as session:
        uid = session.execute(
            select(col(Variant.uid)).order_by(col(Variant.doubt).desc()).limit(1)
        ).scalar_one()
    app.query_params["variant"] = uid
    app.run()
    assert uid in html(app) and "would edit it" not in html(app)
    pressed(app, "Second opinion")
    assert "would edit it" in html(app) and "stated confidence 80%" in html(app)
    assert HOSTILE not in unsafe_texts(app)
    assert "&lt;img" in html(app)
    pressed(app, "Edit from this suggestion")
    assert [box.value for box in app.text_area] == [HOSTILE]
    assert HOSTILE not in unsafe_texts(app)


def test_it_is_hidden_when_the_card_changes(judged: Engine) -> None:
    app = page()
    with reading(judged) as session:
        variant = session.execute(select(Variant).order_by(col(Variant.doubt).desc())).scalar()
        assert variant is not None
    app.query_params["variant"] = variant.uid
    app.run()
    pressed(app, "Second opinion")
    pressed(app, "Details")
    assert html(app).count("would edit it") == 1
    assert "No decisions yet." in [text.value for text in app.text]
    pressed(app, "Blind")
    assert "would edit it" not in html(app)
    pressed(app, "Second opinion")
    assert "would edit it" not in html(app) and "after you have decided" in html(app)
    pressed(app, "Not blind")
    pressed(app, "Second opinion")
    assert "would edit it" in html(app)
    with writing(judged) as session:
        correct_anchor(
            session,
            variant.anchor_id,
            "The old road is safe.",
            reviewer_id=person(session),
            expected_revision=1,
        )
    app.run()
    assert "The old road is safe." in re.sub("<[^>]+>", "", html(app))
    assert "would edit it" not in html(app)


def test_without_model_opinions_there_is_no_key_and_no_order(
    signed_in: None, with_source: Engine
) -> None:
    with writing(with_source) as session:
        person(session)
        add_family(session)
    app = page()
    assert "Second opinion" not in [button.label for button in app.button]
    assert "Doubtful" not in next(e for e in app.get("button_group") if e.key == "order").options
