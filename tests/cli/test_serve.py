"""``hedgerow app``: its server, its port, and how it ends."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus

from cli.serve import FIRST_PORT
from curation.project.opening import open_project
from db.engine import writing
from db.models import RunState
from db.runs import create_run
from db.settings import load_settings
from tests.cli.support.commands import HEDGEROW, add_small_project, complaint, stored_run
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
        assert f"Port {port} is in use" in complaint("app", "--port", port)
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
