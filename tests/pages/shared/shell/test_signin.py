"""Signing in: one reviewer for all spellings of a name, and none with a reserved name."""

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.corpora.corpus import STARTER
from curation.review.people.reviewers import people
from db.engine import reading, writing
from tests.pages.conftest import OpenPage
from tests.support.factories import add_family, person


@pytest.fixture
def engine_with_ada(with_source: Engine) -> Engine:
    """A project in which Ada reviews."""
    with writing(with_source) as session:
        add_family(session)
        person(session, "Ada")
    return with_source


@pytest.fixture
def reserved_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Request this fixture first, because settings are read once."""
    monkeypatch.setenv("HEDGEROW_REVIEWER", STARTER.reviewer)


def sign_in(app: AppTest, name: str) -> AppTest:
    app.text_input[0].input(name)
    app.button[0].click().run()
    assert not app.exception
    return app


def names(engine: Engine) -> list[str]:
    with reading(engine) as session:
        return [one.name for one in people(session)]


def texts(app: AppTest) -> list[str]:
    return [text.value for text in (*app.text, *app.sidebar.text)]


def test_another_spelling_signs_in_the_same_person(
    engine_with_ada: Engine, open_page: OpenPage
) -> None:
    app = sign_in(open_page("review"), " ADA")
    assert app.session_state["reviewer_name"] == "Ada"
    assert names(engine_with_ada) == ["Ada"]


REFUSED = f"The name '{STARTER.reviewer}' is reserved for imports and models; choose another"


def test_a_reserved_name_is_refused_in_a_sentence(
    engine_with_ada: Engine, open_page: OpenPage
) -> None:
    app = sign_in(open_page("review"), STARTER.reviewer)
    assert any(REFUSED in text for text in texts(app))
    assert "reviewer_name" not in app.session_state
    assert names(engine_with_ada) == ["Ada"]


def test_a_reserved_name_in_the_settings_is_refused_in_a_sentence(
    reserved_setting: None, engine_with_ada: Engine, open_page: OpenPage
) -> None:
    app = open_page("overview")
    assert any(REFUSED in text for text in texts(app))
    assert "reviewer_name" not in app.session_state
    assert names(engine_with_ada) == ["Ada"]
