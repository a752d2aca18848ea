"""A page that fails shows one sentence, stays usable, and recovers when the reason is gone."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import DatabaseError
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest

from db import engine as db_engine
from db.errors import HedgerowError
from tests.pages.conftest import ROOT, TIMEOUT, OpenPage, unsafe_texts

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
HOSTILE = "<img src=x onerror=alert(1)> **bold**"
FAILURES: list[tuple[Exception, str]] = [
    (HedgerowError(f"Expected a bridge, found {HOSTILE}."), f"found {HOSTILE}."),
    (
        RuntimeError(HOSTILE),
        "This page failed (RuntimeError). For details, see the log in the app's terminal.",
    ),
    (
        ImportError("cannot import name 'x'", name="curation.new"),
        "This page could not import a part of the program (curation.new). If you have just "
        "upgraded Hedgerow, restart it.",
    ),
    (
        DatabaseError("SELECT 1", {}, BaseException("x")),
        "This page failed (DatabaseError). For details, see the log in the app's terminal.",
    ),
]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
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


def texts(app: AppTest) -> str:
    return "\n".join(text.value for text in app.text)


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
    assert "Try again" not in [button.label for button in app.button]
    for error, sentence in FAILURES:
        broken(error)
        app.run()
        assert not app.exception
        assert sentence in texts(app)
        assert "bold" not in unsafe_texts(app)
        assert app.title and "Reviewing as Ada" in [text.value for text in app.sidebar.text]
    broken(None)
    app.button(key=next(b.key for b in app.button if b.label == "Try again")).click().run()
    assert not app.exception
    assert "failed" not in texts(app) and "bridge" not in texts(app)


def test_a_project_that_cannot_be_opened_says_so_and_opens_later(
    home: Path, open_page: OpenPage, through_app: None
) -> None:
    (home / "hedgerow.db").write_text("Dear all, " * 100)
    app = open_page("overview")
    assert "cannot be read as a database" in texts(app)
    (home / "hedgerow.db").unlink()
    app.button(key="try-again-page").click().run()
    assert app.title[0].value == "Overview"
    assert "database" not in texts(app)


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
        st.text("The part is there.")

    part()
    st.text("The page is there.")


def test_a_failing_callback_is_reported_once_and_keeps_the_page() -> None:
    app = AppTest.from_function(_page_with_callbacks, default_timeout=TIMEOUT).run()
    app.button(key="fail").click().run()
    assert not app.exception
    assert [t.value for t in app.text] == [
        "No **room**.",
        "The part is there.",
        "The page is there.",
    ]
    app.button(key="err").click().run()
    assert app.text[0].value.startswith("This page failed (KeyError)")
    assert app.text[-1].value == "The page is there."
    assert "secret" not in texts(app)
    app.run()
    assert len(app.text) == 2


def test_a_failing_part_leaves_the_rest_of_the_page_working() -> None:
    app = AppTest.from_function(_page_with_callbacks, default_timeout=TIMEOUT).run()
    app.button(key="part").click().run()
    assert not app.exception
    assert "This page failed (ValueError)" in texts(app)
    assert "The page is there." in texts(app)
    retry = next(b for b in app.button if b.label == "Try again")
    retry.click().run()
    assert texts(app) == "The part is there.\nThe page is there."


@pytest.mark.parametrize(
    "path", sorted((ROOT / "pages").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_every_fragment_is_guarded(path: Path) -> None:
    if path.name == "error_messages.py":
        return
    used = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr in ("fragment", "dialog")
        and isinstance(node.value, ast.Name)
        and node.value.id == "st"
    ]
    assert not used, "use errors.fragment"
