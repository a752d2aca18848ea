"""Fixtures for all tests: every test has its own database and working directory."""

import gc
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import Engine
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.util import LRUCache

from db import engine as db_engine
from tests.support.databases import Copies, Fill, Server, opened, sqlite
from tests.support.small_llama import save_small_llama
from training.evaluation import retrieval

POSTGRES = os.environ.get("HEDGEROW_TEST_POSTGRES_URL", "")
IN_CI = bool(os.environ.get("CI"))

# No test reaches a model hub. Setting this here also covers the processes that tests start.
os.environ["HF_HUB_OFFLINE"] = "1"
# Tests run in parallel. Threads of several processes that wait for each other would spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The duration of an example depends on the load of the machine.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")
settings.register_profile("quick", max_examples=10)


def missing(what: str) -> None:
    """Skip a test on a developer's machine that lacks ``what``; fail it in CI."""
    if IN_CI:
        pytest.fail(f"CI needs {what}")
    pytest.skip(f"needs {what}")


STARTER_FIXTURES = {"loaded_home", "starter_engine"}
"""Loading the starter corpus takes seconds."""
LONG_FIXTURES = {
    "app_engine",
    "forker",
    "open_page",
    "serve_chat",
    "small_llama",
    "tiny_encoder",
}
"""Fixtures that take a good part of a second each: pages, processes, servers, models."""
LONG_MARKS = ("browser", "postgres", "slow")


def pytest_itemcollected(item: pytest.Item) -> None:
    """The fixtures of a test show what it needs."""
    names = getattr(item, "fixturenames", ())
    if "chromium" in names:
        item.add_marker(pytest.mark.browser)
    if STARTER_FIXTURES.intersection(names):
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Choose the tests of `make quick`, and sort the tests.

    Quick tests are the first case of every test without slow fixtures. If a file has no such test,
    its first unmarked test is quick.
    """
    chosen: dict[str, pytest.Item] = {}
    for item in items:
        if not _is_long(item):
            chosen.setdefault(item.nodeid.partition("[")[0], item)
    files = {item.path for item in chosen.values()}
    for item in items:
        if item.path not in files and not any(map(item.get_closest_marker, LONG_MARKS)):
            chosen.setdefault(str(item.path), item)
    for item in chosen.values():
        item.add_marker(pytest.mark.quick)
    yield
    _put_in_order(items)


def _is_long(item: pytest.Item) -> bool:
    needed = LONG_FIXTURES.intersection(getattr(item, "fixturenames", ()))
    opens_pages = hasattr(getattr(item, "module", None), "AppTest")
    return bool(needed) or opens_pages or any(map(item.get_closest_marker, LONG_MARKS))


def _put_in_order(items: list[pytest.Item]) -> None:
    """Files with long tests come first, and files with browser tests at intervals.

    One process runs the tests of a file, in this order. A long file at the end would keep all other
    processes waiting, and several browsers at once are several times slower.
    """
    browser = dict.fromkeys(item.path for item in items if item.get_closest_marker("browser"))
    slow = dict.fromkeys(item.path for item in items if item.get_closest_marker("slow"))
    others = [
        path
        for path in dict.fromkeys([*slow, *(item.path for item in items)])
        if path not in browser
    ]
    distance = len(others) / (len(browser) + 2)
    place: dict[Path, float] = {path: number for number, path in enumerate(others)}
    place |= {path: number * distance for number, path in enumerate(browser)}
    items.sort(key=lambda item: (place[item.path], item.path))


@pytest.fixture(scope="module", autouse=True)
def _little_to_search_for_garbage() -> None:
    """A test process has millions of objects, and scanning them took a tenth of its time."""
    gc.collect()
    gc.freeze()  # including the libraries that earlier tests have imported
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session")
def small_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a causal language model with a chat template. Do not write into it."""
    folder = save_small_llama(tmp_path_factory.mktemp("small-llama") / "small-llama")
    gc.freeze()  # the libraries that created it add a million objects to scan
    return folder


@pytest.fixture(scope="session", autouse=True)
def _no_wait_for_the_disk() -> Iterator[None]:
    """A test's data need not survive a power failure, and each commit waited for the disk."""
    prepare = db_engine._prepare_sqlite

    def unsynced(connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
        prepare(connection, record)
        connection.execute("PRAGMA synchronous=OFF")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(db_engine, "_prepare_sqlite", unsynced)
        yield


@pytest.fixture(scope="session", autouse=True)
def _statements_compiled_once() -> Iterator[None]:
    """Each test has its own engines, and compiling the statements for each took a fifth of the
    time."""
    make = db_engine._create_engine
    compiled: LRUCache[Any, Any] = LRUCache(5_000)

    def sharing(url: URL, **options: Any) -> Engine:
        return make(url, execution_options={"compiled_cache": compiled}, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(db_engine, "_create_engine", sharing)
        for dialect in (PGDialect_psycopg, SQLiteDialect_pysqlite):  # part of the cache's keys
            patch.setattr(dialect, "__hash__", lambda self: hash(type(self)))
            patch.setattr(dialect, "__eq__", lambda self, other: type(self) is type(other))
        yield


@pytest.fixture(scope="session", autouse=True)
def _few_retrieval_questions() -> Iterator[None]:
    """A tiny encoder takes half a second for all of them, twice in every training run."""
    few = retrieval.retrieval_items()[:5]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrieval, "retrieval_items", lambda: few)
        yield


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own working directory, without the developer's settings."""
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
    """SQLite databases that are created once."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # shared by the processes of one run
        folder = folder.parent
    return Copies(folder / "databases")


@pytest.fixture(scope="session")
def fill(copies: Copies) -> Fill:
    """Fills an empty database with the result of a function: ``fill(engine, function)``."""
    return copies.fill


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The PostgreSQL server."""
    if not POSTGRES:
        missing("a PostgreSQL server (HEDGEROW_TEST_POSTGRES_URL)")
    server = Server(make_url(POSTGRES))
    yield server
    server.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with a database runs on SQLite, and on PostgreSQL if its mark says so."""
    if "backend" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker("databases")
    marks = {"sqlite": (), "postgresql": pytest.mark.postgres}
    kinds = [pytest.param(kind, marks=marks[kind]) for kind in (mark.args if mark else ("sqlite",))]
    metafunc.parametrize("backend", kinds)


@pytest.fixture
def url(backend: str, home: Path, request: pytest.FixtureRequest) -> Iterator[URL]:
    """The address of a database without tables, different from that of ``engine``."""
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
    """The test's own upgraded database, with the starter corpus or empty."""
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
    """A folder with a database that contains the starter corpus. Copy it, do not change it."""
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
