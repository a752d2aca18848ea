"""The real app in real Chromium: a server over the test's own project, and a page on it."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from sqlalchemy import Engine
from sqlmodel import Session

from db.engine import create_engine, writing
from db.settings import Settings
from tests.browser.support.reviewing import card, settle, visit
from tests.conftest import missing
from tests.support.benchmark_results import add_hostile_results
from tests.support.databases import Copies, Fill, opened
from tests.support.factories import add_family, person
from tests.support.hostile import stored
from tests.support.hostile_project import fill

CHROMIUM = os.environ.get("HEDGEROW_TEST_CHROMIUM") or shutil.which("chromium") or ""
# Without the background-networking flags Chromium looks for its maker's servers at every start.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 30_000
"""How long a test waits for what a page shall show; these machines are slow at times."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for the tests of a file; each test has its own context in it.

    It ends before the tests of another file: as long as Playwright is there, so is its event
    loop, and nothing else in this process could run one.
    """
    if not CHROMIUM:
        missing("a Chromium (HEDGEROW_TEST_CHROMIUM)")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def served(home: Path) -> Iterator[str]:
    """``hedgerow app`` over a working directory: its address.

    On a port that the system gives out: another process may be starting apps at the same time.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("hedgerow")), "app", "--port", str(port)],
        cwd=home,
        env=os.environ | {"HEDGEROW_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                break
        else:
            pytest.fail("hedgerow app ended without an address: " + "".join(said))
        yield found[0]
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=20)
        process.stdout.close()


@pytest.fixture
def serve() -> Iterator[Callable[[Path], str]]:
    """Start ``hedgerow app`` over a working directory; gives its address."""
    with ExitStack() as running:
        yield lambda home: running.enter_context(served(home))


@pytest.fixture(scope="session")
def hostile_home(copies: Copies, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory in which everything that can be somebody's text is a hostile one."""
    home = tmp_path_factory.mktemp("hostile")
    with opened(copies.migrated(home / "hedgerow.db")) as engine, writing(engine) as session:
        fill(session)
        folder = Settings(home=home, database_url="").data_folder
        add_hostile_results(session, folder, list(stored().values()))
    return home


@pytest.fixture(scope="session")
def hostile_app(hostile_home: Path) -> Iterator[str]:
    """The address of the app over it, the same for all tests."""
    with served(hostile_home) as address:
        yield address


@contextmanager
def new_page(browser: Browser) -> Iterator[Page]:
    """A new page, 1440 by 900, with nothing remembered from another test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A new page for one test."""
    with new_page(chromium) as page:
        yield page


@pytest.fixture
def project(copies: Copies, home: Path, fill: Fill) -> Engine:
    """Forty families and a person called Ada."""
    engine = create_engine(copies.migrated(home / "hedgerow.db"))

    def made(session: Session) -> None:
        for number in range(40):
            add_family(session, f"The bridge number {number} is safe.")
        person(session)

    fill(engine, made)
    return engine


@pytest.fixture(scope="session")
def shared_app(
    copies: Copies, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, str]]:
    """An app whose database each test puts in its place, and where its link to it lies.

    An app of its own for each test would take a third of the time of all tests here.
    """
    folder = tmp_path_factory.mktemp("shared")
    copies.migrated(folder / "first.db")
    (folder / "hedgerow.db").symlink_to(folder / "first.db")
    with served(folder) as address:
        yield folder / "hedgerow.db", address


@pytest.fixture
def share(shared_app: tuple[Path, str]) -> Callable[[Path], str]:
    """Have the shared app show a working directory's database; gives its address.

    Its data folder is not that directory's; a test that ends the app starts one with ``serve``.
    """
    link, address = shared_app

    def show(home: Path) -> str:
        new = link.with_name("next.db")
        new.symlink_to(home / "hedgerow.db")
        new.replace(link)
        return address

    return show


@pytest.fixture
def desk(project: Engine, home: Path, share: Callable[[Path], str], page: Page) -> Page:
    """The review page with its first card."""
    visit(page, share(home), "/review")
    expect(card(page)).to_be_visible()
    settle(page)
    return page
