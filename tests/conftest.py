"""Fixtures for all tests: every test has its own database and working directory."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.engine import URL, make_url

from tests.support.databases import Copies, Server, opened, sqlite

POSTGRES = os.environ.get("HEDGEROW_TEST_POSTGRES_URL", "")
IN_CI = bool(os.environ.get("CI"))

# No test reaches a model hub; setting it here also covers the processes that tests start.
os.environ["HF_HUB_OFFLINE"] = "1"
# Tests run beside each other: threads of several processes that wait for each other would spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def missing(what: str) -> None:
    """Skip a test on a developer's machine that lacks ``what``; fail it in CI."""
    if IN_CI:
        pytest.fail(f"CI needs {what}")
    pytest.skip(f"needs {what}")


@pytest.hookimpl(trylast=True)  # once the files below have said what they need
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with long tests come first, and those with a browser every now and then.

    Each file's tests are run by one process, in this order. At the end, all but one would wait for
    a long file; and of several browsers at once each takes several times as long.
    """
    browser = dict.fromkeys(item.path for item in items if item.get_closest_marker("browser"))
    slow = dict.fromkeys(item.path for item in items if item.get_closest_marker("slow"))
    others = [
        path
        for path in dict.fromkeys([*slow, *(item.path for item in items)])
        if path not in browser
    ]
    apart = len(others) / (len(browser) + 2)
    place: dict[Path, float] = {path: number for number, path in enumerate(others)}
    place |= {path: number * apart for number, path in enumerate(browser)}
    items.sort(key=lambda item: (place[item.path], item.path))


@pytest.fixture(scope="module", autouse=True)
def _little_to_search_for_garbage() -> None:
    """A process of tests soon has millions of objects, and going over them took a tenth of it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own working directory, free of the developer's settings."""
    for name in list(os.environ):
        if name.startswith("HEDGEROW_") and not name.startswith("HEDGEROW_TEST_"):
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HEDGEROW_HOME", str(folder))
    # Tests that train do not wait for those in other processes.
    monkeypatch.setenv("HEDGEROW_TRAINING_LOCK", str(tmp_path / "training.lock"))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Copies:
    """SQLite databases that were made once."""
    return Copies(tmp_path_factory.mktemp("databases"))


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The PostgreSQL server."""
    if not POSTGRES:
        missing("a PostgreSQL server (HEDGEROW_TEST_POSTGRES_URL)")
    server = Server(make_url(POSTGRES))
    yield server
    server.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with a database runs on SQLite, and on PostgreSQL where its mark says so."""
    if "backend" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker("databases")
    marks = {"sqlite": (), "postgresql": pytest.mark.postgres}
    kinds = [pytest.param(kind, marks=marks[kind]) for kind in (mark.args if mark else ("sqlite",))]
    metafunc.parametrize("backend", kinds)


@pytest.fixture
def url(backend: str, home: Path, request: pytest.FixtureRequest) -> Iterator[URL]:
    """The address of a database without tables; not the one of ``engine``."""
    if backend == "sqlite":
        yield sqlite(home / "hedgerow.db")
        return
    server: Server = request.getfixturevalue("server")
    url = server.create()
    yield url
    server.drop(url)


@contextmanager
def _database(
    backend: str, home: Path, request: pytest.FixtureRequest, *, starter: bool
) -> Iterator[Engine]:
    """An upgraded database of the test's own: with the starter corpus, or empty."""
    if backend == "sqlite":
        copies: Copies = request.getfixturevalue("copies")
        copy = copies.starter if starter else copies.migrated
        with opened(copy(home / "hedgerow.db")) as engine:
            yield engine
        return
    server: Server = request.getfixturevalue("server")
    lend = server.starter if starter else server.migrated
    with lend() as url, opened(url) as engine:
        yield engine


@pytest.fixture
def engine(backend: str, home: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An upgraded, empty database."""
    with _database(backend, home, request, starter=False) as engine:
        yield engine


@pytest.fixture
def starter_engine(backend: str, home: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """A database with the starter corpus."""
    with _database(backend, home, request, starter=True) as engine:
        yield engine


@pytest.fixture(scope="session")
def starter_home(copies: Copies, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database that holds the starter corpus; to be copied, not changed."""
    folder = tmp_path_factory.mktemp("starter")
    copies.starter(folder / "hedgerow.db")
    return folder


@pytest.fixture
def opened_home(home: Path, copies: Copies) -> Path:
    """The test's own working directory, with an empty project that was opened before."""
    copies.project(home / "hedgerow.db")
    return home


@pytest.fixture
def loaded_home(home: Path, copies: Copies) -> Path:
    """The test's own working directory, with the starter corpus loaded."""
    copies.starter(home / "hedgerow.db")
    return home
