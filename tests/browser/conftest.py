"""The real app in real Chromium: a server for the test's own project, and pages."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page
from sqlalchemy import Engine
from sqlmodel import Session

from tests.browser.support.app import App, let_measuring_wait
from tests.browser.support.chromium import Chromium, launched
from tests.conftest import missing
from tests.support.databases import Copies, Fill, opened
from tests.support.factories import add_family, person

CHROMIUM = os.environ.get("HEDGEROW_TEST_CHROMIUM") or shutil.which("chromium") or ""

Share = Callable[[Path], str]
"""Makes the app show the project of a working directory; returns the app's address."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    """The browser for the tests of a file. Until it ends, no other test could use asyncio."""
    if not CHROMIUM:
        missing("a Chromium (HEDGEROW_TEST_CHROMIUM)")
    with launched(CHROMIUM) as chromium:
        yield chromium


@pytest.fixture
def page(chromium: Chromium) -> Iterator[Page]:
    """A page of 1440 by 900 pixels without any state from other tests."""
    with chromium.page() as page:
        yield page


@pytest.fixture
def other(chromium: Chromium) -> Iterator[Page]:
    """The same in another browser."""
    with chromium.page() as page:
        yield page


@pytest.fixture
def project(copies: Copies, home: Path, fill: Fill) -> Iterator[Engine]:
    """Forty families, and three people."""

    def made(session: Session) -> None:
        for number in range(40):
            add_family(session, f"The bridge number {number} is safe.")
        for name in ("Ada", "Bert", "Lea"):
            person(session, name)
        let_measuring_wait(session)

    with opened(copies.project(home / "hedgerow.db")) as engine:
        fill(engine, made)
        yield engine


@pytest.fixture(scope="session")
def share(copies: Copies, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Share]:
    """Show a working directory's project in the app that all journeys share.

    Starting an app takes seconds. Journeys that stop the app or need its start have their own.
    """
    folder, first = tmp_path_factory.mktemp("shared"), tmp_path_factory.mktemp("first")

    def link(home: Path) -> None:
        (home / "hedgerow_data").mkdir(exist_ok=True)
        for name in ("hedgerow.db", "hedgerow_data"):
            (folder / "next").symlink_to(home / name)
            (folder / "next").replace(folder / name)

    copies.migrated(first / "hedgerow.db")
    link(first)
    with App(folder) as app:

        def show(home: Path) -> str:
            link(home)
            return app.address

        yield show
