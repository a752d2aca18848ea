"""A provider's key is nowhere but in the environment of the process that needs it."""

import os
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.generation.run import checked_request, request_generation
from curation.project import open_project
from db.engine import reading, writing
from db.models import RunState, Source
from db.runs import get_run, start_process
from db.settings import load_settings
from tests.cli.commands import ask, process
from tests.factories import add_anchor
from tests.generating import Serve
from tests.generating import serve_chat as serve_chat

KEY = "sk-secret-5b0e77c1"
SECONDS = 90


@pytest.fixture
def engine(home: Path) -> Engine:
    """Two anchors; what follows a generation loads an encoder, which the key does not reach."""
    engine = open_project(load_settings())
    with writing(engine) as session:
        session.add(Source(id=1, name="test"))
        for number in range(2):
            add_anchor(session, f"The bridge number {number} is safe.")
    return engine


def request(engine: Engine, address: str) -> int:
    values = {"model": "fake", "base_url": address, "roles": ("negation",), "attempts": 1}
    with writing(engine) as session:
        return request_generation(session, checked_request(values)).id or 0


def start(engine: Engine, number: int, environment: dict[str, str]) -> list[str]:
    """Start a run's process and wait for its end; gives what the list of processes showed."""
    with reading(engine) as session:
        start_process(load_settings(), get_run(session, number), environment)
    seen = set()
    for _ in range(10 * SECONDS):
        seen |= {line for line in _command_lines() if f"run\0{number}" in line}
        with reading(engine) as session:
            run = get_run(session, number)
        if run.state not in (RunState.QUEUED, RunState.RUNNING):
            return sorted(seen)
        time.sleep(0.1)
    pytest.fail(f"run {number} has not ended")


def _command_lines() -> list[str]:
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(file.read_text(encoding="utf-8", errors="replace"))
        except OSError:  # it has ended meanwhile
            continue
    return found


def files_with(home: Path, secret: str) -> list[Path]:
    files = (file for file in home.rglob("*") if file.is_file())
    return [file for file in files if secret.encode() in file.read_bytes()]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_typed_key_reaches_the_process_and_nothing_else(
    engine: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat(key=KEY)
    number = request(engine, address)
    shown = start(engine, number, {"HEDGEROW_OPENAI_API_KEY": KEY})
    with reading(engine) as session:
        assert get_run(session, number).state == RunState.DONE
    assert len(server.answered) == 2
    assert shown and not [line for line in shown if KEY in line]
    assert KEY not in os.environ.values()
    exported = process("release", "create", "--json")
    assert KEY not in exported.stdout + exported.stderr
    assert files_with(home, KEY) == []


def test_a_refused_key_is_not_quoted(
    engine: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _ = serve_chat(key="another")
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", KEY)
    number = request(engine, address)
    result = process("run", str(number))
    assert result.returncode == 1 and "refuses the key" in result.stderr
    assert KEY not in result.stdout + result.stderr
    assert KEY not in str(ask("settings")) + str(ask("status"))
    assert files_with(home, KEY) == []


def test_a_server_that_quotes_the_key_in_its_error_is_not_believed(
    engine: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tests.chat_server._error",
        lambda message, code: {"error": {"message": f"Bearer {KEY}: {message}", "code": code}},
    )
    address, _ = serve_chat(faults=1.0, kinds=("server error",))
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", KEY)
    monkeypatch.setattr("curation.diagnostics.work", lambda context: {})
    result = ask("run", str(request(engine, address)))
    assert result["failed"] == 2
    assert files_with(home, KEY) == []
