"""Fixtures for all tests: every test has its own database and working directory."""

import gc
import os
import sqlite3
import sys
import uuid
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
from xdist.scheduler import LoadFileScheduling

from db import engine as db_engine
from tests.support.databases import Copies, Fill, Server, drop_databases, opened, sqlite
from training.evaluation import general_ability

POSTGRES = os.environ.get("HEDGEROW_TEST_POSTGRES_URL", "")
IN_CI = bool(os.environ.get("CI"))

# The processes of a run inherit its name.
os.environ.setdefault("HEDGEROW_TEST_RUN", uuid.uuid4().hex[:8])
# No test reaches a model hub. Setting this here also covers the processes that tests start.
os.environ["HF_HUB_OFFLINE"] = "1"
# Tests run in parallel. Threads of several processes that wait for each other would spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The duration of an example depends on the load of the machine. `make soak` searches; the others
# try the same examples each time.
for profile, examples in {"quick": 10, "test": 25, "soak": 300}.items():
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        derandomize=profile != "soak",
        suppress_health_check=[HealthCheck.too_slow],
    )


def missing(what: str) -> None:
    """Skip a test on a developer's machine that lacks ``what``; fail it in CI."""
    if IN_CI:
        pytest.fail(f"CI needs {what}")
    pytest.skip(f"needs {what}")


SLOW_FIXTURES = {"loaded_home", "starter_engine"}
"""Fixtures that take more than a second."""
LONG_FIXTURES = {"app_engine", "forker", "open_page", "serve_chat", "small_llama", "tiny_encoder"}
"""Fixtures that take a good part of a second each: pages, processes, servers, models."""
LONG_MARKS = ("browser", "postgres", "slow")
LONG_FOLDERS = ("browser", "cli", "deploy", "docs", "evaluation", "finetune", "hedgerow", "pages")
HEAVY = ("streamlit", "torch", "transformers")
"""Packages that `make quick` does without, and whose import takes seconds."""
SOAK_PARTS = ("kills", "processes", "wheel", "pictures", "histories")
"""Long forms of tests: series of killed processes, several processes at work, the wheel in a fresh
environment, the pictures of the documents, and many examples of every property test."""
HEAVY_AT_COLLECTION = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say which tests run: those of `make quick`, `make test`, `make soak` or `make wording`."""
    tier = parser.getgroup("Hedgerow")
    tier.addoption("--quick", action="store_true", help="every rule once, without heavy packages")
    tier.addoption("--soak", choices=("all", *SOAK_PARTS), help="only the long forms of tests")
    tier.addoption("--renew-wording", action="store_true", help="write the snapshots of the pages")


def pytest_configure(config: pytest.Config) -> None:
    """Set how many examples property tests try."""
    tier = "quick" if config.option.quick else "soak" if config.option.soak else "test"
    settings.load_profile(tier)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make quick` does not even import the tests of faces, and those that compute with PyTorch."""
    long = collection_path.is_dir() and collection_path.name in LONG_FOLDERS
    return (config.option.quick and long) or None


def pytest_itemcollected(item: pytest.Item) -> None:
    """The fixtures of a test show what it needs."""
    names = getattr(item, "fixturenames", ())
    if "chromium" in names:
        item.add_marker(pytest.mark.browser)
    if SLOW_FIXTURES.intersection(names):
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Choose the tests, and put the longest first: the last ones keep all processes waiting."""
    yield
    config.stash[HEAVY_AT_COLLECTION] = [name for name in HEAVY[1:] if name in sys.modules]
    seen: set[str] = set()
    chosen = [item for item in items if _is_chosen(config, item, seen)]
    config.hook.pytest_deselected(items=list(set(items).difference(chosen)))
    files = {mark: _files(chosen, mark) for mark in ("browser", "slow")}
    chosen.sort(key=lambda item: [item.path not in files[mark] for mark in ("browser", "slow")])
    items[:] = chosen


def _is_chosen(config: pytest.Config, item: pytest.Item, seen: set[str]) -> bool:
    mark = item.get_closest_marker("soak")
    if config.option.soak:
        part = mark.args[0] if mark else item.get_closest_marker("hypothesis") and "histories"
        return bool(part) and config.option.soak in ("all", part)
    fixtures = set(getattr(item, "fixturenames", ()))
    if config.option.renew_wording:
        return "wording" in fixtures
    if config.option.quick:
        name = item.nodeid.partition("[")[0]
        if (
            name in seen
            or fixtures & LONG_FIXTURES
            or any(map(item.get_closest_marker, LONG_MARKS))
        ):
            return False
        seen.add(name)
    return mark is None


def _files(items: list[pytest.Item], mark: str) -> set[Path]:
    return {item.path for item in items if item.get_closest_marker(mark)}


class _OneBrowser(LoadFileScheduling):
    """One process runs the tests of a file, and one those in the browser: several browsers at once
    are several times slower."""

    def _split_scope(self, nodeid: str) -> str:
        browser = "tests/browser/"
        return browser if nodeid.startswith(browser) else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _OneBrowser:
    """Distribute the tests of `make test`."""
    return _OneBrowser(config, log)


@pytest.fixture(scope="module", autouse=True)
def _little_to_search_for_garbage() -> None:
    """A test process has millions of objects, and scanning them took a tenth of its time."""
    gc.collect()
    gc.freeze()  # including the libraries that earlier tests have imported
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session")
def small_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a causal language model with a chat template. Do not write into it."""
    from tests.support.small_llama import save_small_llama

    folder = save_small_llama(tmp_path_factory.mktemp("small-llama") / "small-llama")
    gc.freeze()  # the libraries that created it add a million objects to scan
    return folder


@pytest.fixture(scope="session", autouse=True)
def _light(request: pytest.FixtureRequest) -> Iterator[None]:
    """`make quick` does without heavy packages."""
    yield
    found = [name for name in HEAVY if name in sys.modules]
    assert not request.config.option.quick or found == []


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
def _no_turns() -> Iterator[None]:
    """In few tests anybody waits for the database, so a long write need not wait for others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(db_engine, "TURN_SECONDS", 0.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def _few_retrieval_questions() -> Iterator[None]:
    """A tiny encoder takes half a second for all of them, twice in every training run."""
    few = general_ability.retrieval_items()[:5]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(general_ability, "retrieval_items", lambda: few)
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
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run share. Take a `FileLock` to make something there."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def copies(shared: Path, request: pytest.FixtureRequest) -> Copies:
    """SQLite databases that are created once; the templates again only after a change of code."""
    cache: pytest.Cache = request.config.cache
    return Copies(shared / "databases", kept=cache.mkdir("databases"))


@pytest.fixture(scope="session")
def fill(copies: Copies) -> Fill:
    """Fills an empty database with the result of a function: ``fill(engine, function)``."""
    return copies.fill


@pytest.fixture(scope="session")
def server(shared: Path) -> Iterator[Server]:
    """The PostgreSQL server."""
    if not POSTGRES:
        missing("a PostgreSQL server (HEDGEROW_TEST_POSTGRES_URL)")
    server = Server(make_url(POSTGRES), shared)
    yield server
    server.close()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave nothing on the PostgreSQL server."""
    if POSTGRES and not hasattr(session.config, "workerinput"):
        drop_databases(make_url(POSTGRES))


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
