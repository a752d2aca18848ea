"""Pages opened without a browser, through app.py, for the test's own project."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from sqlalchemy import Engine
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, local_script_runner

from curation.review.browser_window import key_actions
from db.engine import writing
from db.models import Run, Source
from db.settings import Settings
from pages.components.shared import page_runs
from pages.components.shared.shell import open_project
from tests.pages.looks import opened
from tests.pages.wording import compare, spoken
from tests.support.generating import serve_chat as serve_chat
from tests.support.reviewing import state as state

OpenPage = Callable[..., AppTest]
Wording = Callable[[AppTest, str, str], None]


@pytest.fixture(scope="session", autouse=True)
def _packages_and_scripts_read_once() -> Iterator[None]:
    """Each `AppTest` searches the metadata of all installed packages for components, and each of
    its runs compiles the page."""
    with pytest.MonkeyPatch.context() as patch:
        found = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", found)
        compiled = ScriptCache()
        patch.setattr(local_script_runner, "ScriptCache", lambda: compiled)
        yield


@pytest.fixture(autouse=True)
def fresh_caches(opened_home: Path) -> None:
    """The data that the app caches for all sessions belongs to the test's own project."""
    st.cache_resource.clear()
    st.cache_data.clear()


@pytest.fixture
def open_page() -> OpenPage:
    """Opens a page, such as ``overview``, like somebody who follows a link to it.

    Named values are those of the address: ``open_page("team", show="Audit")``.
    """
    return opened


@pytest.fixture
def app_engine(home: Path) -> Engine:
    """The database as opened by the app."""
    return open_project.engine()


@pytest.fixture
def with_source(app_engine: Engine) -> Engine:
    """Like ``app_engine``, with the source that ``tests.support.factories`` gives its anchors."""
    with writing(app_engine) as session:
        session.add(Source(id=1, name="test", licence="CC BY 4.0"))
    return app_engine


@pytest.fixture
def signed_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ada is signed in by the settings. A key of the review page counts immediately."""
    monkeypatch.setattr(key_actions, "MIN_SHOWN_SECONDS", 0.0)
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the runs that the app starts. Their processes are not started."""
    numbers: list[int] = []

    def start_process(
        settings: Settings, run: Run, environment: Mapping[str, str] | None = None
    ) -> None:
        numbers.append(run.id)

    monkeypatch.setattr(page_runs, "start_process", start_process)
    return numbers


@pytest.fixture
def wording(request: pytest.FixtureRequest) -> Wording:
    """Compares a page's texts with its snapshot: ``wording(app, "review", "an empty project")``."""

    def compared(app: AppTest, page: str, state: str) -> None:
        assert not app.exception
        renew = bool(request.config.getoption("--renew-wording"))
        compare(page, state, spoken(app), renew=renew)

    return compared


def unsafe_texts(app: AppTest) -> str:
    """Everything that the page passes to Streamlit as Markdown or HTML, including labels."""
    values = [
        element.value
        for kind in ("markdown", "caption", "html", "success", "title", "subheader")
        for element in app.get(kind)
    ]
    widgets = ("button", "download_button", "page_link", "selectbox", "radio", "expander")
    labels = [element.label for kind in widgets for element in app.get(kind)]
    return "\n".join(str(value) for value in values + labels)
