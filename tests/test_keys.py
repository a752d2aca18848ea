"""A provider's key is only in the environment of the process that needs it."""

import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from typer.testing import CliRunner

import cli
from curation.generation.run import checked_request, request_generation
from curation.overview.project_settings import open_project
from db.engine import reading, writing
from db.models import Answer, ModelCall, Run, RunState, Source, Variant
from db.run_process import start_process
from db.runs import get_run
from db.settings import load_settings
from tests.cli.commands import ask, process
from tests.curation.support.families import decide
from tests.support.factories import add_anchor, person
from tests.support.forking import kill
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat
from tests.support.servers.chat_server import ChatServer

KEY = "sk-secret-5b0e77c1"
SECONDS = 90


@pytest.fixture
def engine(home: Path) -> Engine:
    """Two anchors."""
    engine = open_project(load_settings())
    with writing(engine) as session:
        session.add(Source(id=1, name="test"))
        for number in range(2):
            add_anchor(session, f"The bridge number {number} is safe.")
    return engine


@pytest.fixture
def serve_own(serve_chat: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Start a server at the environment's address, so that the key is sent to it."""

    def start(**how: Any) -> tuple[str, ChatServer]:
        address, server = serve_chat(**how)
        monkeypatch.setenv("HEDGEROW_OPENAI_BASE_URL", address)
        return address, server

    return start


def request(engine: Engine, address: str, **how: Any) -> int:
    values = {"model": "fake", "base_url": address, "roles": ("negation",), "attempts": 1} | how
    return request_generation(engine, checked_request(values)).id


def start(engine: Engine, number: int, environment: dict[str, str]) -> list[str]:
    """Start a run's process, and stop it when its answers are stored.

    Returns:
        What the list of processes showed meanwhile.
    """
    with reading(engine) as session:
        start_process(load_settings(), get_run(session, number), environment)
    seen = set()
    for _ in range(10 * SECONDS):
        seen |= {line for line in _command_lines() if f"run\0{number}" in line}
        with reading(engine) as session:
            run = get_run(session, number)
            stored = len(session.execute(select(col(Answer.id))).all())
        if stored == 2 and run.pid:
            kill(run.pid)  # it would load an encoder
            return sorted(seen)
        assert run.state in (RunState.QUEUED, RunState.RUNNING), run.message
        time.sleep(0.05)
    pytest.fail(f"run {number} has stored nothing")


def accept_all(engine: Engine) -> None:
    with writing(engine) as session:
        reviewer = person(session)
        for variant in session.execute(select(Variant)).scalars().all():
            decide(session, variant, reviewer)


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


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_typed_key_reaches_the_process_and_nothing_else(
    engine: Engine, home: Path, serve_own: Serve
) -> None:
    address, server = serve_own(key=KEY)
    number = request(engine, address)
    shown = start(engine, number, {"HEDGEROW_OPENAI_API_KEY": KEY})
    assert len(server.answered) == 2
    assert shown and not [line for line in shown if KEY in line]
    assert KEY not in os.environ.values()
    accept_all(engine)
    assert ask("release", "create")["created"]
    ask("export", str(home / "export"))
    assert len(list((home / "export").iterdir())) > 1 and list(home.rglob("log.txt"))
    assert files_with(home, KEY) == []


@pytest.mark.slow
def test_a_refused_key_is_not_quoted(
    engine: Engine, home: Path, serve_own: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _ = serve_own(key="another")
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", KEY)
    number = request(engine, address)
    result = process("run", str(number))
    assert result.returncode == 1 and "refuses the API key" in result.stderr
    assert KEY not in result.stdout + result.stderr
    assert KEY not in str(ask("settings")) + str(ask("status"))
    assert files_with(home, KEY) == []


@pytest.fixture
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is in the environment. The measuring after a generation is left out."""
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", KEY)
    monkeypatch.setattr("curation.diagnostics.measuring.work", lambda context: {})


def stored_texts(engine: Engine) -> str:
    """Everything that a provider may have put into the database."""
    with reading(engine) as session:
        rows = [*session.execute(select(Answer)).scalars(), *session.execute(select(Run)).scalars()]
        rows += session.execute(select(ModelCall)).scalars()
        return " ".join(str(row.model_dump()) for row in rows)


def ended_in_vain(number: int, sentence: str = "All 2 calls failed") -> None:
    """A run of two calls without results says so, and its messages do not contain the key."""
    result = CliRunner().invoke(cli.app, ["run", str(number)])
    assert result.exit_code == 1 and sentence in result.output
    assert KEY not in result.output


@pytest.mark.usefixtures("keyed")
def test_a_server_that_quotes_the_key_in_its_error_is_not_believed(
    engine: Engine, home: Path, serve_own: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tests.support.servers.chat_server._error",
        lambda message, code: {"error": {"message": f"Bearer {KEY}: {message}", "code": code}},
    )
    address, _ = serve_own(faults=1.0, kinds=("server error",))
    ended_in_vain(request(engine, address), "Paused: 2 calls in a row got no answer")
    assert "Bearer (key): Overloaded." in stored_texts(engine)
    assert files_with(home, KEY) == []


@pytest.mark.usefixtures("keyed")
@pytest.mark.parametrize("batch", [False, True])
def test_a_server_that_answers_with_the_key_is_not_quoted_either(
    engine: Engine, home: Path, serve_own: Serve, monkeypatch: pytest.MonkeyPatch, batch: bool
) -> None:
    def echo(*_: object) -> dict[str, Any]:
        message = {"content": f"Your key is {KEY}.", "refusal": f"Not with {KEY}."}
        return {"choices": [{"message": message, "finish_reason": KEY}], "usage": {}}

    monkeypatch.setattr("curation.generation.providers.waiting.POLL_SECONDS", 0.01)
    monkeypatch.setattr("tests.support.servers.chat_server._completion", echo)
    address, _ = serve_own()
    ended_in_vain(request(engine, address, batch=batch))
    assert "Your key is (key)." in stored_texts(engine)
    assert files_with(home, KEY) == []


@pytest.mark.usefixtures("keyed")
def test_a_batch_refused_with_the_key_is_not_quoted_either(
    engine: Engine, home: Path, serve_own: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.generation.providers.waiting.POLL_SECONDS", 0.01)
    address, server = serve_own()
    server.batches.refused, server.batches.reason = 1, KEY
    number = request(engine, address, batch=True)
    result = CliRunner().invoke(cli.app, ["run", str(number)])
    assert "refused the batch" in result.output and KEY not in result.output
    assert files_with(home, KEY) == []


@pytest.mark.usefixtures("keyed")
def test_neither_key_nor_texts_follow_a_redirect(
    engine: Engine, home: Path, serve_own: Serve
) -> None:
    elsewhere, thief = serve_own()
    address, server = serve_own()
    server.sent_on_to = elsewhere.replace("127.0.0.1", "localhost")
    result = CliRunner().invoke(cli.app, ["run", str(request(engine, address))])
    assert result.exit_code == 1 and "another address (http://localhost:" in result.output
    assert not thief.asked
    assert files_with(home, KEY) == []


@pytest.mark.usefixtures("keyed")
@pytest.mark.parametrize("bad", [f"{KEY}\n{KEY}", f"\u201c{KEY}\u201d", f"{KEY} {KEY}"])
def test_a_key_that_was_copied_badly_is_reported_but_not_quoted(
    engine: Engine, home: Path, serve_own: Serve, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", bad)
    address, server = serve_own(key=KEY)
    number = request(engine, address)
    result = CliRunner().invoke(cli.app, ["run", str(number)])
    assert result.exit_code == 1 and "copy it again" in result.output
    assert KEY not in result.output and not server.asked
    assert files_with(home, KEY) == []
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", f" {KEY}\n")
    assert ask("run", str(number))["done"] == 2


@pytest.mark.usefixtures("keyed")
def test_the_most_talkative_log_holds_no_key(
    engine: Engine, home: Path, serve_own: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    address, _ = serve_own(key=KEY)
    with caplog.at_level(logging.DEBUG), caplog.at_level(logging.DEBUG, logger="openai"):
        assert ask("run", str(request(engine, address)))["done"] == 2
    assert "openai" in {record.name.partition(".")[0] for record in caplog.records}
    assert KEY not in caplog.text
    assert files_with(home, KEY) == []
