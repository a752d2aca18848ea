"""The real app in real Chromium: a server for the test's own project, and a page."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine
from sqlmodel import Session

from db.engine import create_engine
from tests.browser.support.app import let_measuring_wait, served
from tests.browser.support.chromium import Chromium, launched
from tests.browser.support.reviewing import card, settle, visit
from tests.conftest import missing
from tests.support.databases import Copies, Fill
from tests.support.factories import add_family, person

CHROMIUM = os.environ.get("HEDGEROW_TEST_CHROMIUM") or shutil.which("chromium") or ""

Share = Callable[[Path], str]
"""Makes the app show the project of a working directory; returns the app's address."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """The browser of this process."""
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
def project(copies: Copies, home: Path, fill: Fill) -> Engine:
    """Forty families and a person called Ada."""
    engine = create_engine(copies.migrated(home / "hedgerow.db"))

    def made(session: Session) -> None:
        for number in range(40):
            add_family(session, f"The bridge number {number} is safe.")
        person(session)
        let_measuring_wait(session)

    fill(engine, made)
    return engine


@pytest.fixture(scope="session")
def share(copies: Copies, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Share]:
    """Show a working directory's project in the app that all tests share.

    Starting an app for each test would take a third of the time of all tests here. Tests that stop
    the app or test its start have their own.
    """
    folder, first = tmp_path_factory.mktemp("shared"), tmp_path_factory.mktemp("first")

    def link(home: Path) -> None:
        (home / "hedgerow_data").mkdir(exist_ok=True)
        for name in ("hedgerow.db", "hedgerow_data"):
            (folder / "next").symlink_to(home / name)
            (folder / "next").replace(folder / name)

    copies.migrated(first / "hedgerow.db")
    link(first)
    with served(folder) as address:

        def show(home: Path) -> str:
            link(home)
            return address

        yield show


@pytest.fixture
def desk(project: Engine, home: Path, share: Share, page: Page) -> Page:
    """The review page with its first card."""
    visit(page, share(home), "/review")
    expect(card(page)).to_be_visible()
    settle(page)
    return page
