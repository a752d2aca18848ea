"""A page that fails shows one sentence, stays usable, and recovers when the reason is gone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest

from curation.review.people.reviewers import is_person
from db import engine as db_engine
from db.errors import HedgerowError
from db.models import Reviewer, ReviewerKind
from pages.components.shared.shell import open_project
from tests.pages.conftest import ROOT, TIMEOUT, OpenPage, unsafe_texts
from tests.support.factories import person

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


def texts(app: AppTest) -> list[str]:
    assert not app.exception
    return [text.value for text in app.text]


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
        assert fact in "\n".join(texts(app)) and "bold" not in unsafe_texts(app)
        assert app.title and [text.value for text in app.sidebar.text if "Ada" in text.value]
    broken(None)
    app.button(key=retry(app)[0]).click().run()
    assert not retry(app) and fact not in "\n".join(texts(app))


def test_a_project_that_cannot_be_opened_says_so_and_opens_later(
    home: Path, open_page: OpenPage, through_app: None
) -> None:
    (home / "hedgerow.db").write_text("Dear all, " * 100)
    app = open_page("overview")
    assert "hedgerow.db" in "\n".join(texts(app))
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
    assert texts(app) == ["No **room**.", "part", "page"]
    app.button(key="err").click().run()
    error, *rest = texts(app)
    assert "(KeyError)" in error and "secret" not in error and rest == ["part", "page"]
    app.button(key="part").click().run()
    error, *rest = texts(app)
    assert "(ValueError)" in error and rest == ["page"]
    app.button(key=retry(app)[0]).click().run()
    assert texts(app) == ["part", "page"]
