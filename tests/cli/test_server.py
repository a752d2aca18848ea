"""``hedgerow app``: its server, its port, and how it ends."""

import http.client
import json
import os
import re
import shlex
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
import pytest
from sqlalchemy import Engine, text
from websockets.exceptions import InvalidStatus

from cli.serve import FIRST_PORT
from curation.overview.project_settings import open_project
from db.engine import writing
from db.models import RunState
from db.runs import create_run
from db.settings import Settings, load_settings
from tests.cli.commands import HEDGEROW, add_small_project, ask, complaint, process
from tests.conftest import missing
from tests.support.checkout import ROOT
from tests.support.databases import Copies, both_databases, stored_run
from tests.support.factories import freeze
from tests.support.page_session import first_page


@pytest.fixture
def browser_app() -> Iterator[list["subprocess.Popen[str]"]]:
    """Apps that a test starts. Those still running at its end are stopped."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for app in started:
        app.kill()
        app.communicate()


def start_app(started: list["subprocess.Popen[str]"], *arguments: str) -> dict[str, Any]:
    return announced(launch(started, *arguments))


def launch(started: list["subprocess.Popen[str]"], *arguments: str) -> "subprocess.Popen[str]":
    app = subprocess.Popen(
        [HEDGEROW, "app", "--json", *arguments],
        text=True,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    started.append(app)
    return app


def announced(app: "subprocess.Popen[str]") -> dict[str, Any]:
    assert app.stdout is not None and app.stderr is not None
    line = app.stdout.readline()
    assert line, app.stderr.read()
    answer: dict[str, Any] = json.loads(line)
    return answer


def page_status(url: str) -> int:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.slow
def test_it_measures_in_the_background_avoids_used_ports_and_ends_with_ctrl_c(
    browser_app: list["subprocess.Popen[str]"],
) -> None:
    add_small_project()
    with socket.socket() as busy:
        busy.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            busy.bind(("127.0.0.1", FIRST_PORT))
        except OSError:
            pass  # as if another program used it
        else:
            busy.listen()
        answer = start_app(browser_app)
    parts = urlsplit(answer["url"])
    assert parts.hostname == "127.0.0.1"
    assert parts.port is not None and parts.port > FIRST_PORT
    assert page_status(answer["url"]) == 200
    engine = open_project(load_settings())
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and stored_run(engine, answer["run"]).state != RunState.DONE:
        time.sleep(0.5)
    assert stored_run(engine, answer["run"]).result["cosines"] == 2
    app = browser_app[0]
    os.killpg(app.pid, signal.SIGINT)  # like Ctrl-C in a terminal
    assert app.wait(timeout=20) == 0
    with pytest.raises(ConnectionRefusedError):
        page_status(answer["url"])


def test_a_port_in_use_is_an_error_if_it_was_requested() -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = str(busy.getsockname()[1])
        result = process("app", "--port", port, "--json")
    assert result.returncode == 1 and f"Port {port} is in use" in result.stderr
    assert json.loads(result.stdout) == {"error": result.stderr.strip()}
    assert "There is no project" in complaint("status")  # nothing has been created


@pytest.mark.slow
def test_nothing_is_measured_twice_and_terminate_ends_the_server_too(
    browser_app: list["subprocess.Popen[str]"],
) -> None:
    add_small_project()
    engine = open_project(load_settings())
    with writing(engine) as session:
        create_run(session, kind="diagnose", parameters={})
    answer = start_app(browser_app)
    assert answer["run"] is None
    app = browser_app[0]
    app.send_signal(signal.SIGTERM)
    assert app.wait(timeout=20) == 0
    with pytest.raises(ConnectionRefusedError):
        page_status(answer["url"])


@pytest.mark.slow
def test_two_that_start_at_once_get_a_port_each(
    browser_app: list["subprocess.Popen[str]"],
) -> None:
    apps = [launch(browser_app) for _ in range(2)]
    urls = {announced(app)["url"] for app in apps}
    assert len(urls) == 2
    assert {page_status(url) for url in urls} == {200}


@pytest.mark.slow
def test_only_the_address_it_listens_on_and_this_machines_names_are_answered(
    browser_app: list["subprocess.Popen[str]"],
) -> None:
    url = start_app(browser_app, "--address", "127.0.0.2")["url"]
    for name in ("127.0.0.2", "localhost"):
        assert first_page(url, host=name).headings[0] == "Overview"
    with pytest.raises(InvalidStatus, match="403"):
        first_page(url, host="a-page-elsewhere.example")
    page = httpx2.get(f"{url}/api/status")
    assert page.headers["Content-Type"].startswith("text/html"), "only with --http"
    assert page.text == httpx2.get(url).text


TOKEN = "a-token-of-the-tests-0123"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PATIENCE = 60


class Served(NamedTuple):
    """An app with the HTTP interface: its process, and the folder for its temporary files."""

    url: str
    process: "subprocess.Popen[str]"
    scratch: Path

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return httpx2.get(self.url + path, headers=BEARER | headers, timeout=PATIENCE)


@contextmanager
def serving(folder: Path, *arguments: str, **environment: str) -> Iterator[Served]:
    """An app for the project in a folder."""
    scratch = folder / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [HEDGEROW, "app", "--json", *arguments],
        env=os.environ
        | {"HEDGEROW_HOME": str(folder), "HEDGEROW_HTTP_TOKEN": TOKEN, "TMPDIR": str(scratch)}
        | environment,
        text=True,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=(folder / "complaints").open("w"),
    )
    try:
        assert process.stdout is not None
        announced = json.loads(process.stdout.readline())
        assert "url" in announced, announced
        assert announced.get("api") == (
            f"{announced['url']}/api" if "--http" in arguments else None
        )
        yield Served(announced["url"], process, scratch)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def served(copies: Copies, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An app with the starter corpus and a release of it."""
    folder = tmp_path_factory.mktemp("served")
    copies.starter(folder / "hedgerow.db")
    engine = open_project(Settings(home=folder, database_url=""))
    with writing(engine) as session:
        freeze(session)
    engine.dispose()
    with serving(folder, "--http") as app:
        yield app


@pytest.mark.slow
@both_databases
def test_its_answers_equal_the_output_of_the_commands(
    starter_engine: Engine, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = starter_engine.url.render_as_string(hide_password=False)
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", address)
    with writing(starter_engine) as session:
        create_run(session, kind="diagnose", parameters={})  # otherwise one starts
    with serving(home, "--http") as app:
        assert app.get("/api/releases").json() == {"releases": []}
        none = app.get("/api/releases/latest/export")
        assert none.status_code == 404 and "There is no release yet" in none.json()["error"]
        ask("release", "create", "--name", "first")
        counts = app.get("/api/status").json()
        assert counts == ask("status")
        assert [run["kind"] for run in counts["under_way"]] == ["diagnose"]
        assert app.get("/api/releases").json() == ask("release", "list")
        ask("export", str(tmp_path / "out"), "--format", "jsonl", "--zip")
        packed = app.get("/api/releases/latest/export?format=jsonl")
        assert packed.content == (tmp_path / "out.zip").read_bytes()
        assert packed.headers["Content-Type"] == "application/zip"
        name = 'attachment; filename="hedgerow-release-1-jsonl.zip"'
        assert packed.headers["Content-Disposition"] == name
        for file in ("triples.jsonl", "variants.jsonl"):
            assert (
                app.get(f"/api/releases/1/{file}").content == (tmp_path / "out" / file).read_bytes()
            )
        assert first_page(app.url).headings[0] == "Overview"
        app.process.send_signal(signal.SIGTERM)
        assert app.process.wait(timeout=20) == 0


@pytest.mark.slow
def test_only_requests_with_the_token_are_answered(served: Served) -> None:
    for path in ("/status", "/releases", "/releases/1/export", "/releases/1/triples.jsonl"):
        for shown in ("", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}"):
            headers = {"Authorization": shown} if shown else {}
            refused = httpx2.get(f"{served.url}/api{path}", headers=headers)
            assert refused.status_code == 401
            assert refused.headers["WWW-Authenticate"] == 'Bearer realm="hedgerow"'
            assert set(refused.json()) == {"error"} and TOKEN not in refused.text
    assert httpx2.get(f"{served.url}/api/status?token={TOKEN}").status_code == 401
    assert served.get("/api/status", Authorization=f"bearer  {TOKEN}").status_code == 200
    health = httpx2.get(f"{served.url}/api/health")
    assert health.status_code == 200
    assert health.json() == {
        "status": "ok",
        "version": version("hedgerow"),
        "database": "reachable",
    }


@pytest.mark.slow
def test_a_wrong_request_gets_one_sentence(served: Served) -> None:
    wrong = {
        "/nothing": (404, "nothing at this address"),
        "/releases/7/export": (404, "There is no release 7; the newest is release 1."),
        "/releases/1/models": (404, "not 'models'"),
        "/releases/first/export": (422, "found 'first'"),
        "/releases/-1/triples.jsonl": (422, "found '-1'"),
        f"/releases/{10**30}/triples.jsonl": (422, "Expected the number of a release"),
        "/releases/1/export?format=xml": (422, "Expected a format (hf, jsonl, pairs, messages, "),
        "/releases/1/export?fromat=hf": (422, "found 'fromat'"),
        "/releases/1/triples.jsonl?split=train": (422, "Expected no parameters"),
    }
    for path, (status, sentence) in wrong.items():
        answer = served.get(f"/api{path}")
        assert answer.status_code == status, path
        assert sentence in answer.json()["error"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        headers = BEARER | {"Origin": "https://a-page-elsewhere.example"}
        answer = httpx2.request(method, f"{served.url}/api/status", headers=headers)
        assert answer.status_code == 405 and "GET" in answer.headers["Allow"]
        assert "error" in answer.json()
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.slow
@pytest.mark.parametrize("file", ["export", "triples.jsonl", "pairs.csv"])
def test_a_known_version_is_not_sent_again_and_head_sends_no_body(
    served: Served, file: str
) -> None:
    path = f"/api/releases/latest/{file}"
    head = httpx2.head(served.url + path, headers=BEARER)
    assert head.status_code == 200 and head.content == b""
    tag = head.headers["ETag"]
    assert ask_hash(served) in tag
    assert served.get(path, **{"If-None-Match": f'"other", {tag}'}).status_code == 304
    assert served.get("/api/releases/1/variants.jsonl", **{"If-None-Match": tag}).status_code == 200
    for name in ("ETag", "Content-Type", "Content-Disposition"):
        assert served.get(path).headers[name] == head.headers[name]


def ask_hash(served: Served) -> str:
    digest: str = served.get("/api/releases").json()["releases"][0]["hash"]
    return digest


@pytest.mark.slow
@both_databases
def test_a_client_that_reads_nothing_holds_no_transaction_and_can_disconnect(
    starter_engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = starter_engine.url.render_as_string(hide_password=False)
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", address)
    with writing(starter_engine) as session:
        freeze(session)
        create_run(session, kind="diagnose", parameters={})
    with serving(home, "--http") as app:
        for path in ("triples.jsonl", "export?format=jsonl"):
            with asked(app, f"/api/releases/1/{path}") as client:
                assert client.recv(1000).startswith(b"HTTP/1.1 200")
                time.sleep(0.5)
                assert no_transaction_is_open(starter_engine)
                assert list(app.scratch.glob("hedgerow-*")) == []
        assert app.get("/api/health").status_code == 200
        assert "Traceback" not in (home / "complaints").read_text()


@contextmanager
def asked(app: Served, path: str) -> Iterator[socket.socket]:
    """A client that sends a request, has a small buffer for the answer, and hangs up."""
    place = urlsplit(app.url)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(PATIENCE)
        client.connect((place.hostname, place.port))
        head = (
            f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        )
        client.sendall(head.encode())
        yield client


def no_transaction_is_open(engine: Engine) -> bool:
    if engine.name == "sqlite":
        with sqlite3.connect(str(engine.url.database)) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS written (n INTEGER)")
            connection.commit()
            busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy
    query = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND xact_start IS NOT NULL AND pid <> pg_backend_pid()"
    )
    with engine.connect() as connection:
        return connection.execute(query).scalar_one() == 0


@pytest.mark.slow
def test_others_are_answered_while_an_export_is_made(served: Served) -> None:
    answers: list[httpx2.Response] = []
    export = threading.Thread(target=lambda: answers.append(served.get("/api/releases/1/export")))
    export.start()
    meanwhile = 0
    while export.is_alive():
        assert httpx2.get(f"{served.url}/api/health", timeout=PATIENCE).status_code == 200
        meanwhile += export.is_alive()
    assert answers[0].status_code == 200 and answers[0].content[:2] == b"PK"
    assert meanwhile  # how often depends on the machine
    assert list(served.scratch.glob("hedgerow-*")) == []


@pytest.mark.slow
def test_an_export_whose_client_has_hung_up_is_not_finished(served: Served) -> None:
    with asked(served, "/api/releases/1/export"):
        seen_soon(served.scratch, "hedgerow-*")
    deadline = time.monotonic() + PATIENCE
    while any(served.scratch.glob("hedgerow-*")) and time.monotonic() < deadline:
        with suppress(FileNotFoundError):  # the folder has just disappeared
            assert not any(served.scratch.glob("hedgerow-*/.*.zip.*"))
    assert not any(served.scratch.glob("hedgerow-*"))
    assert served.get("/api/health").status_code == 200


def seen_soon(folder: Path, pattern: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not any(folder.glob(pattern)):
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.slow
def test_without_a_database_it_says_that_it_fails(copies: Copies, tmp_path: Path) -> None:
    copies.starter(tmp_path / "hedgerow.db")
    with serving(tmp_path, "--http") as app:
        assert app.get("/api/health").status_code == 200
        (tmp_path / "hedgerow.db").rename(tmp_path / "elsewhere.db")
        health = app.get("/api/health")
        assert health.status_code == 503
        assert health.json() == {
            "status": "failing",
            "version": version("hedgerow"),
            "database": "unreachable",
        }
        status = app.get("/api/status")
        assert status.status_code == 503 and "no longer exists" in status.json()["error"]


@pytest.mark.slow
def test_it_is_below_the_apps_base_path(copies: Copies, tmp_path: Path) -> None:
    copies.starter(tmp_path / "hedgerow.db")
    with serving(tmp_path, "--http", STREAMLIT_SERVER_BASE_URL_PATH="/hedge/") as app:
        assert app.get("/hedge/api/status").json()["anchors"] > 1000
        assert app.get("/api/status").status_code == 404


@pytest.mark.slow
def test_without_a_good_token_it_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_HTTP_TOKEN", "sk-too-short")
    output = complaint("app", "--http")
    assert "in HEDGEROW_HTTP_TOKEN" in output and "sk-" not in output
    assert "There is no project" in complaint("status")  # nothing has been created


@pytest.mark.slow
def test_the_calls_that_the_guide_shows_work(served: Served, tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    joined = "\n".join(blocks).replace("\\\n", " ")
    calls = [line for line in joined.splitlines() if line.startswith("curl ")]
    assert len(calls) >= 4
    for call in calls:
        words = shlex.split(call.replace("$HEDGEROW_HTTP_TOKEN", TOKEN))
        local = [word.replace("http://127.0.0.1:8501", served.url) for word in words]
        try:
            subprocess.run([*local, "--silent"], cwd=tmp_path, check=True, timeout=PATIENCE)
        except FileNotFoundError:
            missing("curl")
    made = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert made and all(made.values())
